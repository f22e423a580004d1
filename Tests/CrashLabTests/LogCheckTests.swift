import Messages
import Testing

@testable import CrashLab

/// The oracle's findings in small logs.
@Suite(.timeLimit(.minutes(5)))
struct LogCheckTests {
    /// The time at which uptimes are 0, in seconds since 1970.
    private static let origin = 1_000_000.0

    private static func instant(_ uptime: Double) -> Instant {
        Instant(monotonic: Int64(uptime * 1e9), wall: origin + uptime)
    }

    /// Two runs of a publisher with ten samples per second: 100 samples from uptime 10 on, and 50 from uptime 30 on.
    private static func history(withHole hole: Range<Int>? = nil) throws -> StreamHistory {
        var history = StreamHistory(device: "phone", stream: "gyro")
        for (epoch, start, count) in [("first", 10.0, 100), ("second", 30.0, 50)] {
            for sequence in 0..<count where hole?.contains(sequence) != true || epoch != "first" {
                let uptime = start + Double(sequence) / 10
                let body = """
                    {"device":"phone","stream":"gyro","epoch":"\(epoch)","sequence":\(sequence),"count":1,\
                    "fields":["uptime","x"],"values":[[\(uptime),\(value(uptime))]],\
                    "clock":{"uptime":0,"date":"\(WallTime(seconds: origin).utcText)"}}
                    """
                let batch = try #require(HeardBatch(body: body.utf8, packed: nil))
                history.add(batch, at: instant(uptime).monotonic)
            }
        }
        return history
    }

    private static func value(_ uptime: Double) -> Double { uptime * 3 }

    private static func sample(_ epoch: Int, _ sequence: Int) -> LogRecord {
        let uptime = (epoch == 0 ? 10 : 30) + Double(sequence) / 10
        return LogRecord(
            uptime: uptime, timestamp: uptime - 5, stepPath: "Lab/s0", sensorType: "gyro", values: [value(uptime)])
    }

    private static func gap(_ epoch: String, from: Int, count: Int) -> LogRecord {
        var record = LogRecord(uptime: 0, timestamp: 0, stepPath: "Lab/s0", marker: "gap")
        record.epoch = epoch
        record.from = from
        record.count = count
        record.reason = "notRetained"
        return record
    }

    /// A session from uptime 12 (sample 21 of the first epoch) to uptime 33 (sample 30 of the second).
    private static var expectation: SessionExpectation {
        SessionExpectation(
            session: "test", streams: ["phone/"], format: "json", stepPath: "Lab/s0", startAsked: instant(12),
            startAnswered: instant(12.05), stopAsked: instant(33.05))
    }

    private static let whole = (21..<100).map { sample(0, $0) } + (0..<31).map { sample(1, $0) }

    private static func findings(
        _ records: [LogRecord], _ expectation: SessionExpectation = expectation, hole: Range<Int>? = nil
    ) throws -> Findings {
        LogCheck(records, of: "gyro", history: try history(withHole: hole), expectation: expectation).findings
    }

    @Test func aWholeLogIsWhole() throws {
        let findings = try Self.findings(Self.whole)
        #expect(findings.violations == [])
        #expect(findings.samples == 110)
    }

    @Test func moreAtBothEndsIsNoMistake() throws {
        #expect(try Self.findings([Self.sample(0, 20)] + Self.whole + [Self.sample(1, 31)]).violations == [])
        #expect(try !Self.findings([Self.sample(0, 5), Self.sample(0, 6)] + Self.whole).violations.isEmpty)
    }

    @Test(arguments: [0, 40, 78, 79, 109])
    func aMissingSampleIsMissedWhereverItIs(index: Int) throws {
        var records = Self.whole
        records.remove(at: index)
        let findings = try Self.findings(records)
        #expect(findings.lost == 1)
        #expect(findings.unexplained == 1)
        #expect(!findings.violations.isEmpty)
    }

    @Test func aGapExplainsWhatIsMissing() throws {
        var records = Self.whole
        records.replaceSubrange(10..<15, with: [Self.gap("first", from: 31, count: 5)])
        var findings = try Self.findings(records)
        #expect(findings.lost == 5)
        #expect(findings.unexplained == 0)
        #expect(!findings.violations.isEmpty)
        var expectation = Self.expectation
        expectation.mayLose = true
        findings = try Self.findings(records, expectation)
        #expect(findings.violations == [])
        // A gap that is one sample too short.
        records[10] = Self.gap("first", from: 31, count: 4)
        #expect(try Self.findings(records, expectation).unexplained == 1)
        // A gap that is one sample too long: that sample is there.
        records[10] = Self.gap("first", from: 31, count: 6)
        #expect(try !Self.findings(records, expectation).violations.isEmpty)
    }

    @Test func aGapOfUnknownLengthExplainsTheRestOfItsEpoch() throws {
        var expectation = Self.expectation
        expectation.mayLose = true
        var records = Self.whole
        records.replaceSubrange(70..<79, with: [Self.gap("first", from: 91, count: 0)])
        let findings = try Self.findings(records, expectation)
        #expect(findings.lost == 9)
        #expect(findings.violations == [])
    }

    @Test func whatTheLaboratoryMissedItselfMayBeThere() throws {
        #expect(try Self.findings(Self.whole, hole: 50..<60).violations == [])
        var stranger = Self.whole
        stranger.insert(
            LogRecord(uptime: 15.05, timestamp: 10.05, stepPath: "", sensorType: "gyro", values: [1]), at: 30)
        #expect(try Self.findings(stranger, hole: 70..<80).unexplained == 1)
    }

    @Test func aPauseMustBeEmptyAndOnlyThePause() throws {
        var expectation = Self.expectation
        expectation.changes = [
            SessionExpectation.Change(kind: .pause, asked: Self.instant(14), answered: Self.instant(14.01)),
            SessionExpectation.Change(kind: .resume, asked: Self.instant(16), answered: Self.instant(16.01)),
        ]
        #expect(try !Self.findings(Self.whole, expectation).violations.isEmpty)
        let outside = Self.whole.filter { !(14.05...16).contains($0.uptime) }
        #expect(try Self.findings(outside, expectation).violations == [])
        let tooMuch = Self.whole.filter { !(14.05...16.35).contains($0.uptime) }
        #expect(try Self.findings(tooMuch, expectation).unexplained > 0)
    }

    @Test func aStepIsKnownByItsTime() throws {
        var expectation = Self.expectation
        expectation.changes = [
            SessionExpectation.Change(kind: .step("Lab/s1"), asked: Self.instant(14), answered: Self.instant(14.01))
        ]
        #expect(try !Self.findings(Self.whole, expectation).violations.isEmpty)
        var moved = Self.whole
        for index in moved.indices where moved[index].uptime > 14 { moved[index].stepPath = "Lab/s1" }
        #expect(try Self.findings(moved, expectation).violations == [])
    }

    @Test func orderAndOriginMustHold() throws {
        var swapped = Self.whole
        swapped.swapAt(5, 6)
        #expect(try !Self.findings(swapped).violations.isEmpty)
        var twice = Self.whole
        twice.insert(twice[5], at: 50)
        #expect(try Self.findings(twice).duplicated == 1)
        var shifted = Self.whole
        shifted[60].timestamp += 1e-5
        #expect(try !Self.findings(shifted).violations.isEmpty)
        var other = Self.whole
        other[60].values[0] = other[60].values[0].nextUp
        #expect(try Self.findings(other).unexplained == 1)
    }

    @Test func aMarkerSaysWhichSampleComesNext() throws {
        func place(_ word: String, _ epoch: String, _ from: Int) -> LogRecord {
            var record = LogRecord(uptime: 0, timestamp: 0, stepPath: "Lab/s0", marker: word)
            record.epoch = epoch
            record.from = from
            return record
        }
        let first = [place("start", "first", 21)] + Self.whole.prefix(79)
        let second = Self.whole.suffix(31)
        #expect(try Self.findings(first + [place("position", "second", 0)] + second).violations == [])
        // No marker, a wrong number, an unknown epoch.
        #expect(try !Self.findings(first + second).violations.isEmpty)
        #expect(try !Self.findings(first + [place("position", "second", 1)] + second).violations.isEmpty)
        #expect(try !Self.findings(first + [place("position", "third", 0)] + second).violations.isEmpty)
        var expectation = Self.expectation
        expectation.mayLose = true
        var records = first + [place("position", "second", 0)] + second
        records.replaceSubrange(11..<16, with: [Self.gap("first", from: 31, count: 5)])
        #expect(try Self.findings(records, expectation).violations == [])
    }
}
