import Export
import Files
import Foundation
import Recording
import StepDetection
import SystemPackage
import TestSupport
import Testing

/// Bouts of walking, which an export counts.
@Suite(.timeLimit(.minutes(2)))
struct BoutTests {
    /// Five seconds of rest, then twenty seconds of 1.8 steps a second.
    /// - Parameter ahead: how far the publisher's clock is ahead of the recorder's, in seconds.
    private static func made(in data: FilePath, ahead: Double = 0) throws -> MadeSession {
        let session = try MadeSession(in: data)
        try session.add("left-wrist/accelerometer", rate: 25)
        if ahead != 0 { session.compareClocks(at: 2, ahead: ahead) }
        try session.add("phone/gyro", unit: "rad/s")
        for index in 0..<750 {
            let time = Double(index) / 25
            let isWalking = (5..<25).contains(time)
            try session.sample(
                "left-wrist/accelerometer", time, "0.1,0.1,\(1 + (isWalking ? 0.3 * sin(2 * .pi * 1.8 * time) : 0))")
        }
        try session.sample("phone/gyro", 1, "0,0,1")
        try session.finish(at: 30)
        return session
    }

    @Test func theyAreATable() throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            let exported = try Exported(session.directory, to: directory.appending("out"), .csv) {
                $0.clock = .recorder
                $0.countedStreams = ["accelerometer"]
                $0.placement = .wrist
            }
            let rows = try exported.text("s1/bouts.tsv").split(separator: "\n").map { $0.split(separator: "\t") }
            #expect(rows.count == 2)
            #expect(rows[0].count == 11 && rows[0].starts(with: ["stream", "from", "to", "steps", "confidence"]))
            let bout = try #require(rows.last)
            try #require(bout.count == 11)
            #expect(bout[0] == "left-wrist/accelerometer")
            let (from, to, steps) = (Double(bout[1]) ?? 0, Double(bout[2]) ?? 0, Int(bout[3]) ?? 0)
            #expect((4.5...7).contains(from) && (24...26).contains(to) && (33...37).contains(steps))
            #expect(abs((Double(bout[6]) ?? 0) - 1.8) < 0.05)
            #expect(try !exported.text("s1/events.tsv").contains("walking"))
            #expect(try exported.text("s1/provenance.json").contains("\"wrist\""))
        }
    }

    @Test func theyAreEventsOfTheirStream() throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            let exported = try Exported(session.directory, to: directory.appending("out"), .bids) {
                $0.countedStreams = ["accelerometer"]
            }
            let tables = try exported.files.keys.filter { $0.hasSuffix("_events.tsv") }.map { try exported.text($0) }
            #expect(tables.count == 2)
            let lines = tables.flatMap { $0.split(separator: "\n") }.filter { $0.contains("walking") }
            #expect(lines.count == 1)
            let cells = try #require(lines.first).split(separator: "\t")
            #expect(
                cells.count == 5 && (18...21).contains(Double(cells[1]) ?? 0) && (33...37).contains(Int(cells[4]) ?? 0))
            let descriptions = try exported.files.keys.filter { $0.hasSuffix("_events.json") }.map {
                try exported.text($0)
            }
            #expect(descriptions.allSatisfy { $0.contains("how many steps a bout has") })
        }
    }

    /// The stream of markers has no clock offsets, which readers would add.
    @Test func inXDFTheyAreOnTheRecordersClock() throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory, ahead: 2)
            let table = try Exported(session.directory, to: directory.appending("table"), .csv) {
                $0.clock = .recorder
                $0.countedStreams = ["accelerometer"]
            }
            let row = try #require(try table.text("s1/bouts.tsv").split(separator: "\n").last).split(separator: "\t")
            let from = try #require(Double(row[1]))
            #expect((2.5...5).contains(from))
            let exported = try Exported(session.directory, to: directory.appending("markers"), .xdf) {
                $0.clock = .own
                $0.countedStreams = ["accelerometer"]
            }
            let file = try #require(exported.files["s1.xdf"])
            // A sample has eight bytes of time, and two that say how long its text is.
            let text = try #require(file.range(of: Data("walking ".utf8)))
            let bytes = file[(text.lowerBound - 10)..<(text.lowerBound - 2)]
            let bits = bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            #expect(abs(Double(bitPattern: bits) - from) < 1e-6)
        }
    }

    @Test func withoutAskingNothingIsCounted() throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            let exported = try Exported(session.directory, to: directory.appending("out"), .csv)
            #expect(try exported.files["s1/bouts.tsv"] == nil)
            #expect(try !exported.text("s1/provenance.json").contains("countSteps"))
        }
    }

    @Test(arguments: ["gyro", "other"]) func whatIsNoAccelerationIsRefused(stream: String) throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            let error = #expect(throws: RecordingError.self) {
                try Exported(session.directory, to: directory.appending("out"), .csv) { $0.countedStreams = [stream] }
            }
            #expect(error?.description.contains("count steps in") == true)
            #expect(!Directory(directory.appending("out/s1")).exists)
        }
    }
}
