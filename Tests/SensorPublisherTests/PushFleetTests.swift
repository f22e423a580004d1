import FoundationEssentials
import Messages
import PublisherCore
import SampleSources
import ServiceKit
import TestSupport
import Testing

/// In virtual time, fifty phones push over a network that loses, repeats, delays and reorders messages, to a publisher that is
/// killed now and then. A failure names its seed. To repeat it, set `HOLDFAST_TEST_SEED=7`.
@Suite(.timeLimit(.minutes(1)))
struct PushFleetTests {
    static let seeds =
        ProcessInfo.processInfo.environment["HOLDFAST_TEST_SEED"].flatMap(UInt64.init).map { [$0] } ?? Array(1...4)

    @Test(arguments: seeds) func everySampleComesOnceOrIsAGap(seed: UInt64) throws {
        var fleet = try PhoneFleet(seed: seed)
        try fleet.run()
        fleet.check()
    }
}

/// A client that numbers its samples and keeps unacknowledged ones, by the same rules as the page for phones.
private struct NumberingPhone {
    let name: StreamName
    /// Seconds between messages.
    let pause: Int64
    /// Acknowledged samples that the phone keeps anyway.
    let kept: Int
    /// The largest number of samples that the phone keeps.
    let room: Int
    var made = 0
    var next = 0
    var oldest = 0
    var dropped: Set<Int> = []
    var clockJump: Int64 = 0

    mutating func make(_ count: Int) {
        made += count
        oldest = max(oldest, min(next, made) - kept)
        while made - oldest > room {
            if oldest >= next { dropped.insert(oldest) }
            oldest += 1
        }
        next = max(next, oldest)
    }

    func message(start: Int64) -> NumberedSamples {
        let end = min(made, next + 1_000)
        var rows = PushedRows(fields: ["value"])
        for number in next..<end { rows.append([Double(number)], time: start + Int64(number) * 20_000_000 + clockJump) }
        return NumberedSamples(name, epoch: "run", first: next, oldest: oldest, rows: rows)
    }

    mutating func take(_ answer: PushAnswer) {
        switch answer {
        case .accepted(let number): next = max(next, number ?? 0)
        case .wanted(let number):
            // Samples that the phone no longer has are lost.
            next = max(number, oldest)
        case .refused, .unstored: break
        }
    }
}

private struct LoggerPhone {
    let device: String
    let pause: Int64
    var made = 0
    var messages = 0
    /// The indexes in each acknowledged message.
    var acknowledged: [Int: Range<Int>] = [:]
    var clockJump: Int64 = 0
}

private struct PhoneFleet {
    private enum Sender { case numbering(Int), logger(Int, message: Int, Range<Int>) }
    private struct Flight {
        let time: Int64
        let sender: Sender
        let message: PushMessage
    }

    private static let second: Int64 = 1_000_000_000
    private static let tick: Int64 = 100_000_000

    private var random: SplitMix
    private let seed: UInt64
    private let start: Int64
    private var publisher: VirtualPublisher
    private var lives = 1
    private var numbering: [NumberingPhone] = []
    private var loggers: [LoggerPhone] = []
    private var flights: [Flight] = []
    private var asked: [Int: Sender] = [:]
    /// The batches that listeners received, by run of the publisher.
    private var heard: [[StreamName: [String: [RowBatch]]]] = []

    init(seed: UInt64) throws {
        self.seed = seed
        random = SplitMix(seed: seed)
        publisher = try VirtualPublisher([], sources: [], epoch: "life1")
        publisher.begin()
        start = publisher.now.date.nanosecondsSince1970
        for number in 0..<25 {
            numbering.append(
                NumberingPhone(
                    name: StreamName(device: "n\(number)", stream: "value"), pause: number % 5 == 0 ? 10 : 1,
                    kept: 3_000,
                    room: number % 6 == 5 ? 700 : 100_000))
            loggers.append(LoggerPhone(device: "l\(number)", pause: number % 5 == 0 ? 10 : 1))
        }
    }

    private mutating func chance(_ part: Double) -> Bool { random.unit() < part }

    mutating func run() throws {
        let end = publisher.now.monotonic + 180 * Self.second
        // The last seconds have no faults, so that all kept samples arrive.
        let quiet = end - 80 * Self.second
        var tick = 0
        while publisher.now.monotonic < end {
            let isQuiet = publisher.now.monotonic > quiet
            if !isQuiet { try makeSamples(tick) }
            sendNumbered(tick, isQuiet: isQuiet)
            try deliver(isQuiet: isQuiet)
            if !isQuiet, chance(0.002) { try kill() }
            publisher.run(until: publisher.now.monotonic + Self.tick)
            takeAnswers(isQuiet: isQuiet)
            tick += 1
        }
        heard.append(publisher.epochs)
    }

    private mutating func makeSamples(_ tick: Int) throws {
        let isCut = tick / 100 % 4 == 2
        for index in numbering.indices {
            if chance(0.000_5) { numbering[index].clockJump = Int64.random(in: -5...5, using: &random) * Self.second }
            numbering[index].make(5)
        }
        for index in loggers.indices {
            if chance(0.000_5) { loggers[index].clockJump = Int64.random(in: -5...5, using: &random) * Self.second }
            guard tick % Int(loggers[index].pause * 10) == 0 else { continue }
            // Some phones fall silent for a while.
            if index % 7 == 3, (300..<600).contains(tick) { continue }
            let phone = loggers[index]
            let range = phone.made..<phone.made + Int(phone.pause) * 50
            var rows = PushedRows(fields: ["x"])
            for number in range {
                rows.append([Double(number)], time: start + Int64(number) * 20_000_000 + phone.clockJump)
            }
            let message = SensorLoggerMessage(
                number: phone.messages, session: "s", device: phone.device,
                readings: [SensorLoggerMessage.Readings(sensor: "gyroscope", rows: rows)])
            loggers[index].made = range.upperBound
            loggers[index].messages += 1
            if isCut, index % 3 == 0 { continue }
            send(.sensorLogger(message), from: .logger(index, message: message.number, range), isQuiet: false)
        }
    }

    private mutating func sendNumbered(_ tick: Int, isQuiet: Bool) {
        for index in numbering.indices where tick % Int(numbering[index].pause * 10) == 0 {
            let phone = numbering[index]
            guard phone.next < phone.made, !(tick / 100 % 4 == 2 && index % 3 == 0) else { continue }
            send(.numbered(phone.message(start: start)), from: .numbering(index), isQuiet: isQuiet)
        }
    }

    private mutating func send(_ message: PushMessage, from sender: Sender, isQuiet: Bool) {
        if !isQuiet, chance(0.05) { return }
        for _ in 0..<(!isQuiet && chance(0.05) ? 2 : 1) {
            let delay = isQuiet ? 0 : chance(0.1) ? Int64.random(in: 0...2_500_000_000, using: &random) : 20_000_000
            flights.append(Flight(time: publisher.now.monotonic + delay, sender: sender, message: message))
        }
    }

    private mutating func deliver(isQuiet: Bool) throws {
        let due = flights.filter { $0.time <= publisher.now.monotonic }
        flights.removeAll { $0.time <= publisher.now.monotonic }
        for flight in due { asked[publisher.push(flight.message)] = flight.sender }
        takeAnswers(isQuiet: isQuiet)
    }

    private mutating func takeAnswers(isQuiet: Bool) {
        for (request, sender) in asked {
            guard let answer = publisher.pushAnswers[request] else { continue }
            asked[request] = nil
            switch sender {
            case .numbering(let index):
                // An answer may be lost too.
                if isQuiet || !chance(0.05) { numbering[index].take(answer) }
            case .logger(let index, let message, let range):
                if answer == .accepted(next: nil) { loggers[index].acknowledged[message] = range }
            }
        }
    }

    /// Kills the publisher, which loses its last unsent publications, and starts another.
    private mutating func kill() throws {
        var epochs = publisher.epochs
        for (name, runs) in epochs {
            for (epoch, batches) in runs where name.device.hasPrefix("n") && chance(0.5) {
                epochs[name]?[epoch] = Array(batches.dropLast())
            }
        }
        heard.append(epochs)
        lives += 1
        let (now, slept) = (publisher.now, publisher.slept)
        publisher = try VirtualPublisher([], sources: [], epoch: "life\(lives)", at: now.monotonic)
        publisher.now = now
        publisher.slept = slept
        publisher.begin()
        asked = [:]
    }

    // MARK: Invariants

    func check() {
        for phone in numbering {
            var numbers: Set<Int> = []
            for life in heard {
                for (epoch, batches) in life[phone.name] ?? [:] {
                    #expect(epoch == "run@0", "seed \(seed)")
                    var last = -1
                    for batch in batches {
                        for row in 0..<batch.count {
                            let number = Int(batch.firstSequence) + row
                            #expect(batch.rows[row * 2 + 1] == Double(number), "seed \(seed): \(phone.name) \(number)")
                            #expect(number > last, "seed \(seed): in order, and once in a life")
                            last = number
                            numbers.insert(number)
                        }
                    }
                }
            }
            let missing = Set(0..<phone.made).subtracting(numbers)
            if phone.room == 100_000 { #expect(missing.isEmpty, "seed \(seed): \(phone.name) \(missing.count)") }
            // A phone with little room may also have dropped samples that a killed publisher had not sent yet.
            if lives == 1 { #expect(missing.isSubset(of: phone.dropped), "seed \(seed): \(phone.name)") }
        }
        for phone in loggers {
            var indexes: [Int] = []
            for life in heard {
                let batches = (life[StreamName(device: phone.device, stream: "gyroscope")] ?? [:]).values.flatMap(
                    \.self
                )
                .sorted { $0.firstSequence < $1.firstSequence }
                var last: (sequence: Int, index: Int)?
                for batch in batches {
                    for row in 0..<batch.count {
                        let sequence = Int(batch.firstSequence) + row
                        let index = Int(batch.rows[row * 2 + 1])
                        if let last {
                            #expect(index > last.index && sequence > last.sequence, "seed \(seed): \(phone.device)")
                            #expect(
                                (index == last.index + 1) == (sequence == last.sequence + 1),
                                "seed \(seed): \(phone.device) lost samples are a gap, and no others: \(last) \(sequence) \(index)"
                            )
                        }
                        last = (sequence, index)
                        indexes.append(index)
                    }
                }
            }
            let acknowledged = phone.acknowledged.values.flatMap(\.self)
            #expect(Set(acknowledged).isSubset(of: indexes), "seed \(seed): \(phone.device)")
        }
    }
}
