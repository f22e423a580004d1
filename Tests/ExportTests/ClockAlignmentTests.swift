import Export
import Foundation
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// The times of all devices, converted to one clock.
@Suite(.timeLimit(.minutes(1)))
struct ClockAlignmentTests {
    private static func point(_ time: Int64, _ offset: Int64) -> ClockAlignment.Point {
        ClockAlignment.Point(time: time, offset: offset, uncertainty: 0)
    }

    @Test func offsetsAreLinearBetweenComparisons() {
        var alignment = ClockAlignment([Self.point(1000, 100), Self.point(3000, 300), Self.point(4000, 0)])
        let expected: [(Int64, Int64)] = [
            (-5000, -5100), (1000, 900), (1500, 1350), (2000, 1800), (3000, 2700), (3500, 3350), (4000, 4000),
            (9000, 9000),
            // Queries may go back in time.
            (1500, 1350), (0, -100),
        ]
        for (own, recorder) in expected { #expect(alignment.recorderTime(of: own) == recorder, "\(own)") }
    }

    @Test func withoutAComparisonTimesStayAsTheyAre() {
        var alignment = ClockAlignment([])
        #expect(alignment.recorderTime(of: 12345) == 12345)
    }

    /// A relay answers with the uptime of its own machine, which started 27 days after the publisher's.
    @Test func aRelaysClockIsNotThePublishers() throws {
        let start = try WallTime(iso8601: "2026-11-21T10:00:00Z")
        var record = SessionRecord(
            session: try SessionIdentifier("s"), task: "", step: "", streams: [], format: .json, root: .array,
            status: .finished, startDate: start)
        record.clocks = [
            ClockComparison(
                endpoint: "tcp://relay", date: start, clock: ClockReading(uptime: 259_200, date: start), roundTrip: 0)
        ]
        var epoch = SessionRecord.Epoch(
            epoch: "E1", clock: ClockReading(uptime: 2_592_000, date: start), replay: "tcp://relay")
        epoch.isRelayed = true
        var alignment = ClockAlignment(of: epoch, in: record)
        #expect(alignment.points.isEmpty)
        #expect(alignment.recorderTime(of: 5_000_000_000) == 5_000_000_000)
    }

    /// Its stream of markers has no clock offsets, and the session's other events are on the recorder's clock.
    @Test func gapsOfXDFAreOnTheRecordersClock() throws {
        try withTemporaryDirectory { directory in
            let session = try MadeSession(in: directory)
            try session.add("a/b", fields: ["x"])
            session.compareClocks(at: 2, ahead: 2)
            try session.sample("a/b", 2.5, "0")
            try session.gap("a/b", count: 3, at: 2.6)
            try session.sample("a/b", 2.75, "1")
            try session.finish(at: 3)
            let exported = try Exported(session.directory, to: directory.appending("out"), .xdf) { $0.clock = .own }
            let text = Array("gap a/b: notRetained (3)".utf8)
            let time = withUnsafeBytes(of: 0.5.bitPattern.littleEndian) { Array($0) }
            let marker = time + [1, UInt8(text.count)] + text
            let file = try #require(exported.files["s1.xdf"])
            #expect(Array(file).contains(marker))
        }
    }

    @Test func onsetsOfBIDSAreOnTheClockOfTheSamples() throws {
        try withTemporaryDirectory { directory in
            let session = try MadeSession(in: directory)
            try session.add("a/b", fields: ["x"])
            session.compareClocks(at: 2, ahead: 2)
            try session.sample("a/b", 2.5, "0")
            try session.move(to: "back", at: 1)
            try session.sample("a/b", 3.75, "1")
            try session.finish(at: 3)
            let exported = try Exported(session.directory, to: directory.appending("out"), .bids) { $0.clock = .own }
            let lines = try exported.text("sub-01/motion/sub-01_task-Walk_tracksys-ab_events.tsv")
                .split(separator: "\n").map { $0.split(separator: "\t") }
            let step = try #require(lines.first { $0[2] == "step" })
            #expect(step[0] == "0.5")
        }
    }

    @Test func aTimeIsOnTheClockOfTheRunThatWasHeardThen() throws {
        try withTemporaryDirectory { directory in
            let session = try MadeSession(in: directory)
            try session.add("a/b", fields: ["x"])
            try session.sample("a/b", 1, "0")
            try session.beginEpoch("a/b", "second", at: 2)
            try session.sample("a/b", 3, "1")
            try session.finish(at: 4)
            let record = try session.directory.record()
            var log = try #require(record.logs.first)
            var alignments: [String: ClockAlignment] = [:]
            for (index, second) in [Int64(2), 4].enumerated() {
                log.epochs[index].heard = record.startDate.adding(second * 1_000_000_000)
                alignments[log.epochs[index].epoch] = ClockAlignment([Self.point(0, 10 * second)])
            }
            for (second, offset) in [(1, 20), (2, 20), (3, 40), (4, 40), (5, 40)] as [(Int64, Int64)] {
                var alignment = log.alignment(at: second * 1_000_000_000, record, alignments)
                #expect(alignment.recorderTime(of: 100) == 100 - offset, "at \(second) s")
            }
        }
    }

    /// A publisher's clock is 2 s ahead at first and 3 s an hour later, at the end.
    @Test func timesOfADriftingClockAreTheRecorders() throws {
        try withTemporaryDirectory { directory in
            let session = try MadeSession(in: directory)
            try session.add("a/b", fields: ["x"])
            session.compareClocks(at: 2, ahead: 2)
            session.compareClocks(at: 3602, ahead: 3, roundTrip: 0.004)
            try session.sample("a/b", 2, "0")
            try session.sample("a/b", 1802, "1")
            try session.sample("a/b", 3602, "2")
            try session.finish(at: 3603)
            let exported = try Exported(session.directory, to: directory.appending("out"), .csv) {
                $0.clock = .recorder
            }
            #expect(try exported.text("s1/a_b.csv") == "time,x\n0,0\n1799.5,1\n3599,2\n")
            let own = try Exported(session.directory, to: directory.appending("own"), .csv) { $0.clock = .own }
            #expect(try own.text("s1/a_b.csv") == "time,x\n2,0\n1802,1\n3602,2\n")

            let provenance = try JSONDecoder().decode(
                JSONValue.self, from: Data(exported.text("s1/provenance.json").utf8))
            guard case .object(let fields) = provenance, case .array(let clocks)? = fields["clocks"],
                case .object(let clock)? = clocks.first
            else { return #expect(Bool(false), "no clocks") }
            #expect(clock["uncertainty"] == .number(0.002))
            #expect(clock["drift"] == .number(1.0 / 3600))
        }
    }

    /// A restarted machine has new uptimes: each run's clock comparisons apply only to its own epochs.
    @Test(arguments: [0, 150] as [Double])
    func aMachineThatStartedAnewHasItsOwnComparisons(clockSet: Double) throws {
        let start = try WallTime(iso8601: "2026-11-21T10:00:00Z")
        func date(_ seconds: Double) -> WallTime { WallTime(seconds: start.seconds + seconds) }
        func comparison(at time: Double, uptime: Double, ahead: Double) -> ClockComparison {
            ClockComparison(
                endpoint: "tcp://a", date: date(time), clock: ClockReading(uptime: uptime, date: date(time + ahead)),
                roundTrip: 0)
        }
        var record = SessionRecord(
            session: try SessionIdentifier("s"), task: "", step: "", streams: [], format: .json, root: .array,
            status: .finished, startDate: start)
        record.clockSet = clockSet
        record.clocks = [
            comparison(at: 1, uptime: 5001, ahead: 0.5), comparison(at: 100, uptime: 5100, ahead: 0.5),
            comparison(at: 200, uptime: 10, ahead: -0.25),
        ]
        let first = SessionRecord.Epoch(
            epoch: "E1", clock: ClockReading(uptime: 5000, date: date(0.5)), replay: "tcp://a",
            heard: date(120 + clockSet))
        let second = SessionRecord.Epoch(
            epoch: "E2", clock: ClockReading(uptime: 8, date: date(197.75)), replay: "tcp://a",
            heard: date(199 + clockSet))
        var one = ClockAlignment(of: first, in: record)
        #expect(one.offset(at: 0).magnitude.distance(to: 500_000_000).magnitude < 1000)
        var two = ClockAlignment(of: second, in: record)
        #expect(abs(two.offset(at: 0) + 250_000_000) < 1000)
    }

    /// In a long session, comparisons are far apart: the first one after a restart may be nearer to the end of the run
    /// before it than that run's own.
    @Test func comparisonsAfterARestartAreNotOfTheRunBeforeIt() throws {
        let start = try WallTime(iso8601: "2026-11-21T10:00:00Z")
        func date(_ seconds: Double) -> WallTime { start.adding(Int64(seconds * 1e9)) }
        var record = SessionRecord(
            session: try SessionIdentifier("s"), task: "", step: "", streams: [], format: .json, root: .array,
            status: .finished, startDate: start)
        for (time, uptime) in [(1, 5001), (100, 5100), (200, 10)] as [(Double, Double)] {
            record.clocks.append(
                ClockComparison(
                    endpoint: "tcp://a", date: date(time), clock: ClockReading(uptime: uptime, date: date(time + 0.5)),
                    roundTrip: 0))
        }
        let epoch = SessionRecord.Epoch(
            epoch: "E1", clock: ClockReading(uptime: 5000, date: date(0.5)), replay: "tcp://a", heard: date(180))
        let alignment = ClockAlignment(of: epoch, in: record)
        #expect(alignment.points.map(\.offset) == [500_000_000, 500_000_000])
    }

    /// A session with comparisons of a publisher's clock, in seconds.
    /// - Parameter comparisons: times on the recorder's clock, uptimes, and how far the publisher's clock was ahead.
    private static func record(
        _ comparisons: [(time: Int64, uptime: Double, ahead: Int64)]
    ) throws -> SessionRecord {
        let start = try WallTime(iso8601: "2026-11-21T10:00:00Z")
        var record = SessionRecord(
            session: try SessionIdentifier("s"), task: "", step: "", streams: [], format: .json, root: .array,
            status: .finished, startDate: start)
        for (time, uptime, ahead) in comparisons {
            let date = start.adding(time * 1_000_000_000)
            record.clocks.append(
                ClockComparison(
                    endpoint: "tcp://a", date: date,
                    clock: ClockReading(uptime: uptime, date: date.adding(ahead * 1_000_000_000)), roundTrip: 0))
        }
        return record
    }

    private static func epoch(
        _ name: String, at time: Int64, uptime: Double, heard: Int64, in record: SessionRecord
    ) -> SessionRecord.Epoch {
        SessionRecord.Epoch(
            epoch: name, clock: ClockReading(uptime: uptime, date: record.startDate.adding(time * 1_000_000_000)),
            replay: "tcp://a", heard: record.startDate.adding(heard * 1_000_000_000))
    }

    /// A machine runs from -60 to 350 s, and again from 400 s. Its first comparison then is so late that its uptime is
    /// greater than all before.
    /// The machine's date may be wrong at its start.
    @Test(arguments: [897, -86_400] as [Int64]) func aRestartShowsInALaterStartToo(date: Int64) throws {
        let record = try Self.record([(100, 160, 2), (200, 260, 2), (1000, 600, -3)])
        let first = Self.epoch("E1", at: 92, uptime: 150, heard: 300, in: record)
        let second = Self.epoch("E2", at: date, uptime: 500, heard: 1000, in: record)
        #expect(ClockAlignment(of: first, in: record).points.map(\.offset) == [2_000_000_000, 2_000_000_000])
        #expect(
            ClockAlignment(of: second, after: first, in: record).points.map(\.offset) == [(date - 900) * 1_000_000_000])
    }

    /// The publisher's machine slept for an hour, longer than it had run.
    @Test func aSleepIsNoRestart() throws {
        let record = try Self.record([(100, 160, 0), (4000, 460, 0)])
        let epoch = Self.epoch("E1", at: 90, uptime: 150, heard: 4000, in: record)
        #expect(ClockAlignment(of: epoch, in: record).points.count == 2)
    }

    @Test func aRunWithoutAComparisonIsNotCorrected() throws {
        try withTemporaryDirectory { directory in
            let session = try MadeSession(in: directory)
            try session.add("a/b", fields: ["x"])
            session.compareClocks(at: 0.5, ahead: 0.5)
            try session.sample("a/b", 1, "0")
            // Its uptime is less than in the comparison, so the machine was restarted after that.
            try session.beginEpoch("a/b", "second", at: 2)
            try session.sample("a/b", 3, "1")
            try session.finish(at: 4)
            let exported = try Exported(session.directory, to: directory.appending("out"), .csv) {
                $0.clock = .recorder
            }
            #expect(try exported.text("s1/a_b.csv") == "time,x\n0.5,0\n3,1\n")
        }
    }

    @Test(
        arguments: [
            ("0", 0), ("1.5", 1_500_000_000), ("-0.000000001", -1), ("1e-05", 10_000), ("20.018839633", 20_018_839_633),
            ("123456789.123456789", 123_456_789_123_456_789), ("0.0000000016", 2), ("-12", -12_000_000_000),
        ] as [(String, Int64)])
    func secondsAreWholeNanoseconds(_ text: String, _ expected: Int64) {
        let bytes = Array(text.utf8)
        #expect(bytes.withUnsafeBytes { Nanoseconds.parse($0) } == expected)
    }

    @Test(arguments: ["NaN", "", "-", "x", "1.5x"]) func whatIsNoTimeIsNone(_ text: String) {
        let bytes = Array(text.utf8)
        #expect(bytes.withUnsafeBytes { Nanoseconds.parse($0) } == nil)
    }

    @Test func aTimeIsReadBackFromItsDigits() {
        var random = SplitMix(seed: 7)
        for _ in 0..<10_000 {
            let time = Int64.random(in: -100_000_000_000_000...100_000_000_000_000, using: &random)
            var buffer = ByteBuffer(capacity: 0)
            Nanoseconds.append(time, to: &buffer)
            #expect(buffer.withUnsafeBytes { Nanoseconds.parse($0) } == time)
        }
    }
}
