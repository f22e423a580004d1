import Messages
import PublisherCore
import SampleSources
import ServiceKit
import Testing

/// In virtual time: the sample times that result when clients push to a machine that sleeps.
@Suite(.timeLimit(.minutes(1)))
struct PushSleepTests {
    private static let second: Int64 = 1_000_000_000
    private static let interval: Int64 = 20_000_000
    private let name = StreamName(device: "m5", stream: "accelerometer")
    private let publisher: VirtualPublisher

    init() throws {
        publisher = try VirtualPublisher([], sources: [])
        publisher.begin()
    }

    /// The machine sleeps, and wakes.
    private func fallAsleep(for seconds: Int64) {
        publisher.slept += seconds * Self.second
        publisher.now.date = publisher.now.date.adding(seconds * Self.second)
        publisher.settle()
    }

    private var date: Int64 { publisher.now.date.nanosecondsSince1970 }

    /// - Parameter start: the time of sample 0.
    private func push(_ range: Range<Int>, start: Int64, sentAt: Int64? = nil) {
        var rows = PushedRows(fields: ["value"])
        for number in range { rows.append([Double(number)], time: start + Int64(number) * Self.interval) }
        let request = publisher.push(
            .numbered(NumberedSamples(name, epoch: "run", first: range.lowerBound, sentAt: sentAt, rows: rows)))
        #expect(publisher.pushAnswers[request] == .accepted(next: range.upperBound))
    }

    private func pushFromSensorLogger(_ message: Int, _ range: Range<Int>, start: Int64) {
        var rows = PushedRows(fields: ["value"])
        for number in range { rows.append([Double(number)], time: start + Int64(number) * Self.interval) }
        let request = publisher.push(
            .sensorLogger(
                SensorLoggerMessage(
                    number: message, session: "s", device: "m5",
                    readings: [SensorLoggerMessage.Readings(sensor: "gyroscope", rows: rows)])))
        #expect(publisher.pushAnswers[request] == .accepted(next: nil))
    }

    /// The uptimes of all samples, whose numbers must be consecutive.
    private func uptimes(_ stream: String = "accelerometer") -> [Int64] {
        let batches = publisher.epochs[StreamName(device: "m5", stream: stream)]?.values.flatMap(\.self) ?? []
        var next: Int64 = 0
        for batch in batches {
            #expect(batch.firstSequence == next)
            next += Int64(batch.count)
        }
        let uptimes = batches.flatMap { batch in
            (0..<batch.count).compactMap { Nanoseconds.from(seconds: batch.rows[$0 * batch.columns]) }
        }
        #expect(zip(uptimes, uptimes.dropFirst()).allSatisfy { $0 < $1 }, "times increase")
        return uptimes
    }

    private func isNear(_ one: Int64?, _ other: Int64, within tolerance: Int64 = 1_000) -> Bool {
        one.map { abs($0 - other) <= tolerance } ?? false
    }

    @Test func numberedSamplesHaveTheirDatesAfterASleep() {
        let start = date
        publisher.run(seconds: 2)
        push(0..<100, start: start)
        fallAsleep(for: 600)
        publisher.run(seconds: 1)
        push(100..<150, start: date - 150 * Self.interval)
        #expect(isNear(uptimes().last, publisher.now.monotonic - Self.interval))
        fallAsleep(for: 3_600)
        publisher.run(seconds: 1)
        push(150..<200, start: date - 200 * Self.interval)
        #expect(isNear(uptimes().last, publisher.now.monotonic - Self.interval))
    }

    @Test func samplesOfSensorLoggerHaveTheirDatesAfterASleep() {
        let start = date
        publisher.run(seconds: 2)
        pushFromSensorLogger(0, 0..<100, start: start)
        fallAsleep(for: 600)
        publisher.run(seconds: 1)
        pushFromSensorLogger(1, 100..<150, start: date - 150 * Self.interval)
        #expect(isNear(uptimes("gyroscope").last, publisher.now.monotonic - Self.interval))
    }

    @Test func whatWasSampledDuringTheSleepIsPlacedAtTheWakeAndNoBatchGoesOverIt() throws {
        let start = date
        publisher.run(seconds: 2)
        push(0..<50, start: start)
        fallAsleep(for: 600)
        let wake = publisher.now.monotonic
        publisher.run(seconds: 1)
        // 50 samples from before the sleep, 30,000 from during it, 50 from after.
        push(50..<30_150, start: start)
        let uptimes = uptimes()
        #expect(uptimes.count == 30_150)
        #expect(isNear(uptimes[99], wake - Self.interval))
        #expect(uptimes[101] > wake && uptimes[30_099] < wake + Self.second / 10)
        #expect(isNear(uptimes[30_149], publisher.now.monotonic - Self.interval))
        for (batch, clock) in zip(publisher.heard[0].batches, publisher.heard[0].clocks) {
            let times = (0..<batch.count).map { batch.rows[$0 * batch.columns] }
            let (first, last) = (try #require(times.first), try #require(times.last))
            let edge = Double(wake) / 1e9
            #expect(last <= edge || first > edge)
            // The dates that listeners compute are correct, except for samples taken during the sleep.
            let own = Double(start) / 1e9 + batch.rows[batch.rows.count - 1] * 0.02
            #expect(abs(clock.date.seconds + last - clock.uptime - own) < 0.01)
        }
    }

    @Test func aClockThatIsAheadDoesNotGoBackAtASleep() {
        let start = date + 3 * Self.second
        publisher.run(seconds: 2)
        push(0..<100, start: start)
        fallAsleep(for: 600)
        publisher.run(seconds: 1)
        push(100..<30_150, start: start)
        #expect(isNear(uptimes().last, publisher.now.monotonic + 3 * Self.second - Self.interval))
    }

    @Test func aDevicesOwnClockContinuesDuringTheSleep() {
        // The device was started five seconds ago.
        publisher.run(seconds: 2)
        push(0..<100, start: 5 * Self.second, sentAt: 7 * Self.second)
        fallAsleep(for: 600)
        publisher.run(seconds: 1)
        push(100..<30_150, start: 5 * Self.second)
        #expect(isNear(uptimes().last, publisher.now.monotonic - Self.interval))
    }

    @Test func uptimesOfAProgramOnThisMachineStandStillWithIt() {
        var start = publisher.now.monotonic
        publisher.run(seconds: 2)
        push(0..<100, start: start)
        let behind = publisher.now.monotonic - start - 99 * Self.interval
        fallAsleep(for: 600)
        publisher.run(seconds: 20)
        start = publisher.now.monotonic - 200 * Self.interval
        push(100..<200, start: start)
        #expect(isNear(uptimes().last, publisher.now.monotonic - Self.interval + behind))
        #expect(uptimes()[100] > uptimes()[99] + 10 * Self.second)
    }

    @Test func samplesThatAreSentAgainAndAgainAreNotNewAfterASleep() throws {
        func send(_ range: Range<Int>, start: Int64) throws {
            var rows = PushedRows(fields: ["value"])
            for number in range { rows.append([Double(number)], time: start + Int64(number) * Self.interval) }
            let part = UnnumberedSamples.Part(
                stream: "accelerometer", unit: nil, description: "", clock: .date, rows: rows)
            _ = publisher.push(.unnumbered(try UnnumberedSamples(device: "m5", parts: [part])))
        }
        let start = date
        publisher.run(seconds: 2)
        try send(0..<100, start: start)
        fallAsleep(for: 10)
        publisher.run(seconds: 1)
        try send(50..<650, start: start)
        let uptimes = uptimes()
        #expect(uptimes.count == 650)
        #expect(isNear(uptimes.last, publisher.now.monotonic - Self.interval))
    }
}
