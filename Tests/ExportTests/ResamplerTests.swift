import Export
import Foundation
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// Streams resampled to another rate.
@Suite(.timeLimit(.minutes(1)))
struct ResamplerTests {
    private static func resampled(
        _ rate: Double, _ write: (MadeSession) throws -> Void
    ) throws -> (table: String, gaps: String) {
        try withTemporaryDirectory { directory in
            let session = try MadeSession(in: directory)
            try session.add("a/b", fields: ["x"], rate: 100)
            try write(session)
            try session.finish(at: 100)
            let exported = try Exported(session.directory, to: directory.appending("out"), .csv) {
                $0.clock = .recorder
                $0.rate = rate
            }
            return (try exported.text("s1/a_b.csv"), try exported.text("s1/gaps.tsv"))
        }
    }

    @Test func valuesLieOnALineBetweenTheirNeighbours() throws {
        let table = try Self.resampled(50) { session in
            try session.sample("a/b", 0.005, "1")
            try session.sample("a/b", 0.015, "2")
            try session.sample("a/b", 0.025, "4")
            try session.sample("a/b", 0.04, "8")
        }.table
        #expect(table == "time,x\n0.02,3\n0.04,8\n")
    }

    @Test func aFasterRateFillsInBetween() throws {
        let table = try Self.resampled(400) { session in
            try session.sample("a/b", 0.01, "1")
            try session.sample("a/b", 0.02, "3")
        }.table
        #expect(table == "time,x\n0.01,1\n0.0125,1.5\n0.015,2\n0.0175,2.5\n0.02,3\n")
    }

    @Test func nothingIsMadeUpForAGap() throws {
        let (table, gaps) = try Self.resampled(100) { session in
            try session.samples("a/b", from: 0.01, count: 3) { "\($0)" }
            try session.gap("a/b", count: 1, at: 0.04)
            try session.samples("a/b", from: 0.05, count: 2) { "\($0)" }
            // Silence, without a lost sample.
            try session.samples("a/b", from: 0.1, count: 2) { "\($0)" }
        }
        #expect(table == "time,x\n0.01,0\n0.02,1\n0.03,2\n0.05,0\n0.06,1\n0.1,0\n0.11,1\n")
        #expect(gaps.split(separator: "\n").count == 2)
    }

    @Test func aSilenceIsMeasuredInIntervalsOfItsOwnRun() throws {
        let table = try Self.resampled(10) { session in
            try session.sample("a/b", 0.1, "0")
            // 100 Hz: longer than three intervals.
            try session.sample("a/b", 0.5, "9")
            try session.beginEpoch("a/b", "E2", rate: 10, at: 0.95)
            try session.sample("a/b", 1.05, "0")
            try session.sample("a/b", 1.3, "5")
        }.table
        #expect(table == "time,x\n0.1,0\n0.5,9\n1.1,1\n1.2,3\n1.3,5\n")
    }

    @Test func aValueThatIsAbsentMakesItsNeighboursAbsent() throws {
        let table = try Self.resampled(200) { session in
            try session.sample("a/b", 0.01, "1")
            try session.sample("a/b", 0.02, "null")
            try session.sample("a/b", 0.03, "3")
        }.table
        #expect(table == "time,x\n0.01,1\n0.015,\n0.02,\n0.025,\n0.03,3\n")
    }

    /// A clock may be set, and two samples may have the same time.
    @Test(
        arguments: [
            ([0, 0.01, 0.01, 0.02], "time,x\n0,0\n0.01,1\n0.02,3\n"),
            ([0.02, 0.03, 0.02, 0.04], "time,x\n0.02,0\n0.03,1\n0.04,3\n"),
        ] as [([Double], String)])
    func eachMultipleHasOneSample(_ times: [Double], _ expected: String) throws {
        let table = try Self.resampled(100) { session in
            for (index, time) in times.enumerated() { try session.sample("a/b", time, "\(index)") }
        }.table
        #expect(table == expected)
    }

    @Test(arguments: LogFormat.allCases)
    func textsInAColumnOfJSONStayJSON(_ format: LogFormat) throws {
        try withTemporaryDirectory { directory in
            let session = try MadeSession(in: directory)
            try session.add(
                "a/b", fields: ["x", "any"], types: [.number, .number, .json], rate: 100, format: format)
            for (index, value) in [#""text""#, #""6""#, #""north""#, "6"].enumerated() {
                try session.sample("a/b", Double(index + 1) / 100, "\(index),\(value)")
            }
            try session.finish(at: 1)
            let recorded = try Exported(session.directory, to: directory.appending("recorded"), .csv) {
                $0.clock = .recorder
            }
            let resampled = try Exported(session.directory, to: directory.appending("resampled"), .csv) {
                $0.clock = .recorder
                $0.rate = 100
            }
            #expect(try resampled.text("s1/a_b.csv") == recorded.text("s1/a_b.csv"))
        }
    }
}
