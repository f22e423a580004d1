import Messages
import PublisherCore
import SampleSources
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct LiveInputTests {
    private static let date = WallTime(seconds: 1_795_219_200)

    private func take(
        _ text: String, by input: LiveInput, at now: Int64, date: WallTime = Self.date
    ) -> [[Double]] {
        input.take(Array(text.utf8).span, at: now, date: date).map(\.rows)
    }

    /// Starts an input, which takes 101 samples at 10 Hz.
    private func startAndTakeTenSeconds(by input: LiveInput) throws {
        try input.start(at: 0)
        for index in 0...100 {
            _ = take(index == 0 ? "t,x\n0,0\n" : "\(index),\(index)\n", by: input, at: Int64(index) * 100_000_000)
        }
    }

    @Test func linesBecomeBatchesWhereverTheBytesAreCut() throws {
        let input = try LiveInput(format: .csv, batch: 2)
        #expect(input.fields.isEmpty)
        try input.start(at: 0)
        #expect(take("t,x\n5,", by: input, at: 1_000_000_000).isEmpty)
        #expect(input.fields.isEmpty)
        #expect(take("1\n5.5,2\n6,3\n", by: input, at: 2_000_000_000) == [[2, 1, 2.5, 2]])
        #expect(input.fields == ["uptime", "x"])
        #expect(take("6.5,4", by: input, at: 3_000_000_000).isEmpty)
        #expect(input.end(at: 3_000_000_000, date: Self.date).map(\.rows) == [[3, 3, 3.5, 4]])
        #expect(input.state == .ended)
        #expect(throws: PublisherError.self) { try input.start(at: 4_000_000_000) }
    }

    @Test func aLineThatCannotBeReadIsCountedAndLeftOut() throws {
        let input = try LiveInput(format: .ndjson, batch: 1)
        try input.start(at: 0)
        let rows = take("{\"x\": 1}\n{\"x\": \n{\"y\": 2}\n\n{\"x\": 3}\n", by: input, at: 0)
        #expect(rows == [[0, 1], [0, 3]])
        #expect(input.malformedLines == 2)
        #expect(input.lastProblem?.message == "standard input, line 3: no number for \"x\"")
    }

    @Test func whatComesWhileItIsStoppedIsLeftOut() throws {
        let input = try LiveInput(format: .csv, batch: 1)
        #expect(take("x\n1\n", by: input, at: 0).isEmpty)
        #expect(input.fields == ["uptime", "x"], "the fields are known all the same")
        try input.start(at: 0)
        #expect(take("2\n", by: input, at: 0) == [[0, 2]])
    }

    @Test func motionHasItsFieldsWhateverTheInputHas() throws {
        let input = try LiveInput(format: .csv, batch: 1, choice: FieldChoice(isMotion: true))
        try input.start(at: 0)
        #expect(take("rotationRate.y,x\n7,1\n", by: input, at: 0) == [[0, 1, 0, 0, 0, 0, 0, 0, 7, 0]])
        #expect(input.fields == ["uptime"] + DeviceMotion.fields)
    }

    @Test func aPortThatWasAwayWhileTheStreamWasStoppedLostOnlyWhatFollowedTheStart() throws {
        let second: Int64 = 1_000_000_000
        let input = try LiveInput(format: .csv, origin: .serial(path: "/dev/ttyUSB0"), batch: 1)
        try startAndTakeTenSeconds(by: input)
        _ = input.stop(at: 11 * second)
        _ = input.interrupt(PublisherError(.unreadable, "gone"), at: 12 * second)
        try input.start(at: 3_600 * second)
        #expect(input.resume(at: 3_602 * second) == 19, "2 s at 10 Hz")
    }

    @Test func aPortThatComesBackContinuesAfterAGapOfAboutWhatWasLost() throws {
        let second: Int64 = 1_000_000_000
        let input = try LiveInput(format: .csv, origin: .serial(path: "/dev/ttyUSB0"), batch: 1)
        #expect(input.resume(at: 0) == nil, "it was not away")
        try startAndTakeTenSeconds(by: input)
        _ = take("101,1", by: input, at: 10 * second)
        #expect(input.interrupt(PublisherError(.unreadable, "gone"), at: 10 * second).isEmpty)
        #expect(input.failure != nil)
        #expect(input.resume(at: 15 * second) == 49, "5 s at 10 Hz")
        #expect(input.failure == nil)
        #expect(input.resume(at: 15 * second) == nil)
        // The rest of a line looks like a sample; a restarted device repeats its header and counts from 0.
        let batches = input.take(Array("5,2\nt,x\n0,7\n0.1,8\n".utf8).span, at: 15 * second, date: Self.date)
        #expect(batches.map(\.rows) == [[15, 7], [15.1, 8]])
        #expect(batches.first?.firstSequence == 150)
        #expect(input.malformedLines == 0)
        for index in 1...100 { _ = take("\(index),1\n", by: input, at: 15 * second + Int64(index) * second / 10) }
        _ = input.interrupt(PublisherError(.unreadable, "gone again"), at: 25 * second)
        #expect(input.resume(at: 30 * second) == 49, "the first outage does not lower the rate")
    }

    @Test func aPortThatGoesAgainBeforeItsFirstLineCountsEachOutageOnce() throws {
        let second: Int64 = 1_000_000_000
        let input = try LiveInput(format: .csv, origin: .serial(path: "/dev/ttyUSB0"), batch: 1)
        try startAndTakeTenSeconds(by: input)
        _ = input.interrupt(PublisherError(.unreadable, "gone"), at: 10 * second)
        #expect(input.resume(at: 15 * second) == 49, "5 s at 10 Hz")
        _ = input.interrupt(PublisherError(.unreadable, "gone again"), at: 16 * second)
        #expect(input.resume(at: 17 * second) == 19, "2 s at 10 Hz")
    }

    @Test(arguments: ["t,x\n", ""])
    func aDeviceThatRestartsCountsAnewFromItsArrival(header: String) throws {
        let second: Int64 = 1_000_000_000
        let input = try LiveInput(format: .csv, origin: .serial(path: "/dev/ttyUSB0"), batch: 2)
        try input.start(at: 0)
        #expect(take("t,x\n100,1\n", by: input, at: 50 * second).isEmpty)
        #expect(take("1900,2\n", by: input, at: 1_850 * second) == [[50, 1, 1_850, 2]])
        let batches = take("1900.1,3\n\(header)0,4\n0.1,5\n0.2,6\n", by: input, at: 1_860 * second)
        #expect(batches.flatMap(\.self) == [1_850.1, 3, 1_860, 4, 1_860.1, 5] + (header.isEmpty ? [1_860.2, 6] : []))
        #expect(input.flush(at: 1_861 * second)?.rows == (header.isEmpty ? nil : [1_860.2, 6]))
    }

    /// A device that got the date from the network: its samples keep the distances of their arrivals.
    @Test func aDeviceWhoseClockIsSetAheadIsPairedAnew() throws {
        let second: Int64 = 1_000_000_000
        let input = try LiveInput(format: .csv, origin: .serial(path: "/dev/ttyUSB0"), batch: 10)
        try input.start(at: 0)
        #expect(take("t,x\n3.20,1\n", by: input, at: 10 * second).isEmpty)
        #expect(take("3.21,2\n", by: input, at: 10 * second + 10_000_000).isEmpty)
        let before = take("1795000000.00,3\n", by: input, at: 10 * second + 20_000_000)
        #expect(before == [[10, 1, 10.01, 2]])
        #expect(take("1795000000.01,4\n", by: input, at: 10 * second + 30_000_000).isEmpty)
        #expect(input.flush(at: 11 * second)?.rows == [10.02, 3, 10.03, 4])
        // The first sample may have come late, so a later one may be 2 s ahead.
        #expect(take("1795000003.00,5\n", by: input, at: 11 * second + 20_000_000).isEmpty)
        #expect(input.flush(at: 12 * second)?.rows == [13.02, 5])
    }

    @Test(arguments: [0, 1_794_000_000])
    func aFileThatRunsAheadKeepsItsPauses(start: Int) throws {
        let second: Int64 = 1_000_000_000
        let input = try LiveInput(format: .csv, batch: 2)
        try input.start(at: 0)
        let text = "t,x\n\(start),1\n\(start + 3_600),2\n"
        #expect(take(text, by: input, at: 10 * second) == [[10, 1, 3_610, 2]])
    }

    /// The program takes this machine's dates, which are 3 h behind until they are set.
    @Test func aProgramWhoseDatesAreSetWithThisMachinesIsPairedAnew() throws {
        let second: Int64 = 1_000_000_000
        let input = try LiveInput(format: .csv, batch: 1)
        try input.start(at: 0)
        #expect(take("t,x\n1795219200,1\n", by: input, at: 10 * second) == [[10, 1]])
        for (index, seconds) in [10_800.5, 10_801].enumerated() {
            let now = 10 * second + Int64(index + 1) * second / 2
            let date = WallTime(seconds: Self.date.seconds + seconds)
            let rows = take("\(date.seconds),2\n", by: input, at: now, date: date)
            #expect(rows == [[10.5 + Double(index) / 2, 2]])
        }
    }

    /// While this machine sleeps, a wall clock continues, but the uptime stands still.
    @Test func aClockThatWentOnWhileTheMachineSleptIsPairedAnew() throws {
        let second: Int64 = 1_000_000_000
        let input = try LiveInput(format: .csv, batch: 1)
        try input.start(at: 0)
        #expect(take("t,x\n1000,1\n", by: input, at: 10 * second) == [[10, 1]])
        input.noteSleep(3_600 * second)
        // Sampled before the sleep, and read afterwards.
        #expect(take("1000.5,2\n", by: input, at: 11 * second) == [[10.5, 2]])
        #expect(take("4601,3\n4601.5,4\n", by: input, at: 12 * second) == [[12, 3], [12.5, 4]])
        // A later pause of a minute is a real pause.
        #expect(take("4661.5,5\n", by: input, at: 72 * second) == [[72.5, 5]])
    }

    /// The clock of a program on this machine may stand still during the same sleep.
    @Test func aClockThatSleptTooIsNotPairedAnew() throws {
        let second: Int64 = 1_000_000_000
        let input = try LiveInput(format: .csv, batch: 1)
        try input.start(at: 0)
        #expect(take("t,x\n10,1\n", by: input, at: 10 * second) == [[10, 1]])
        input.noteSleep(3_600 * second)
        #expect(take("10.5,2\n11,3\n", by: input, at: 12 * second) == [[10.5, 2], [11, 3]])
    }

    @Test func anyBytesOfAPortAreTakenInAnyPieces() throws {
        for seed in 0..<200 {
            var random = SplitMix(seed: UInt64(seed))
            let format = LineParser.Format.allCases.randomElement(using: &random) ?? .csv
            let input = try LiveInput(format: format, origin: .serial(path: "port"), batch: 3)
            try input.start(at: 0)
            var next: Int64 = 0
            for step in 1...50 {
                let pieces = ["t,x\n", "1,2\n", "{\"x\":1}\n", "\n", "\u{0}", "9e999,1\n", "{", "\r\n"]
                var bytes = Array((pieces.randomElement(using: &random) ?? "").utf8)
                if Bool.random(using: &random) { bytes.append(UInt8.random(in: 0...255, using: &random)) }
                if Int.random(in: 0..<8, using: &random) == 0 {
                    _ = input.interrupt(PublisherError(.unreadable, "gone"), at: Int64(step))
                }
                _ = input.resume(at: Int64(step))
                for batch in input.take(bytes.span, at: Int64(step), date: Self.date) {
                    #expect(batch.firstSequence >= next, "seed \(seed)")
                    next = batch.firstSequence + Int64(batch.count)
                }
            }
        }
    }

    @Test func theLastSampleIsTheLatestThatCame() throws {
        let input = try LiveInput(format: .csv, batch: 10)
        try input.start(at: 0)
        #expect(take("t,x\n", by: input, at: 5).isEmpty)
        #expect(input.lastSample(at: 6) == nil)
        #expect(take("1000,1\n", by: input, at: 7).isEmpty)
        #expect(input.lastSample(at: 8) == 7)
        #expect(take("1001,oops\n", by: input, at: 9).isEmpty)
        #expect(input.lastSample(at: 100) == 7, "a line that can't be read is not a sample")
    }

    @Test func linesThatCannotBeReadFailTheStreamUntilOneCan() throws {
        let input = try LiveInput(format: .csv, batch: 10)
        try input.start(at: 0)
        #expect(take("x\n1\n2\n", by: input, at: 0).isEmpty)
        let bad = String(repeating: "oops\n", count: LiveInput.tolerance - 1)
        #expect(take(bad + "3\n" + bad, by: input, at: 0).isEmpty)
        #expect(input.failure == nil)
        #expect(take("oops\n", by: input, at: 0) == [[0, 1, 0, 2, 0, 3]], "what waits comes first")
        let reason =
            "10 lines in a row could not be read, most recently standard input, line 23: x: \"oops\" is not a number"
        #expect(input.failure?.message == reason)
        #expect(input.state == .running)
        #expect(take("4\n", by: input, at: 0).isEmpty)
        #expect(input.failure == nil)
        #expect(input.stop(at: 0)?.rows == [0, 4])
    }

    @Test func aStartForgetsThatLinesCouldNotBeRead() throws {
        let input = try LiveInput(format: .csv, batch: 1)
        try input.start(at: 0)
        _ = take("x\n1\n" + String(repeating: "oops\n", count: LiveInput.tolerance), by: input, at: 0)
        #expect(input.failure != nil)
        _ = input.stop(at: 0)
        #expect(input.failure == nil)
        try input.start(at: 0)
        #expect(take(String(repeating: "oops\n", count: LiveInput.tolerance - 1), by: input, at: 0).isEmpty)
        #expect(input.failure == nil)
    }

    @Test func anInputThatBreaksGivesWhatWaitsAndHasFailed() throws {
        let input = try LiveInput(format: .csv, batch: 10)
        try input.start(at: 0)
        #expect(take("x\n1\n2\n", by: input, at: 0).isEmpty)
        let failure = PublisherError(.unreadable, "standard input was closed")
        #expect(input.fail(failure, at: 0, date: Self.date).map(\.rows) == [[0, 1, 0, 2]])
        #expect(input.failure == failure)
        #expect(input.state == .ended)
    }

    @Test func anInputThatBreaksAfterAStopHasNotFailed() throws {
        let input = try LiveInput(format: .csv, batch: 10)
        try input.start(at: 0)
        #expect(input.stop(at: 0) == nil)
        let failure = PublisherError(.unreadable, "standard input was closed")
        #expect(input.fail(failure, at: 0, date: Self.date).isEmpty)
        #expect(input.failure == nil)
        #expect(input.state == .stopped)
    }
}
