import Export
import Files
import Foundation
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// Sessions as tables of comma-separated values.
@Suite(.timeLimit(.minutes(1)))
struct CSVExportTests {
    /// A session with a gap, a pause, a step, a rotated file and values that are not digits.
    private static func made(in data: FilePath) throws -> MadeSession {
        let session = try MadeSession(in: data)
        try session.add("left-wrist/accelerometer")
        try session.sample("left-wrist/accelerometer", 0.01, "-0.078923,0.5,1")
        try session.sample("left-wrist/accelerometer", 0.02, "1e-05,-0,1.7976931348623157e+308")
        try session.gap("left-wrist/accelerometer", count: 3, at: 0.06)
        try session.rotate("left-wrist/accelerometer", at: 0.06)
        try session.sample("left-wrist/accelerometer", 0.06, #"null,"NaN","-Infinity""#)
        try session.move(to: "back", at: 0.065)
        try session.pause(from: 0.07, to: 1, leavingOut: ["left-wrist/accelerometer": 93])
        try session.sample("left-wrist/accelerometer", 1.000000001, "0.1,0.2,0.3")
        try session.beginEpoch("left-wrist/accelerometer", "E2", at: 1.5)
        try session.sample("left-wrist/accelerometer", 1.5, "4,5,6")
        try session.finish(at: 2)
        return session
    }

    @Test(arguments: LogFormat.allCases)
    func recordsAreTheSameTableWhateverFormatTheyWereRecordedIn(format: LogFormat) throws {
        try withTemporaryDirectory { directory in
            let session = try MadeSession(in: directory)
            try session.add(
                "phone/events", fields: ["lat", "label", "ok", "at", "any"],
                types: [.number, .number, .text, .boolean, .date, .json], unit: nil, format: format)
            try session.sample(
                "phone/events", 0.01, #"52.250,"a,\"b\"",true,"2026-11-21T08:00:00Z",{"x":[1, "y"]}"#)
            try session.sample("phone/events", 0.02, #"null,"",null,null,"text""#)
            try session.sample("phone/events", 0.03, #"1152921504606846977,null,false,"","""#)
            try session.sample("phone/events", 0.04, #"1,"12, rue X",true,"2026-11-21T08:00:00Z",6"#)
            try session.finish(at: 1)
            #expect(session.directory.verify().findings.filter { $0.verdict == .damaged } == [])
            let exported = try Exported(session.directory, to: directory.appending("out"), .csv)
            #expect(
                try exported.text("s1/phone_events.csv") == #"""
                    time,lat,label,ok,at,any
                    2026-11-21 10:00:00.010000000Z,52.250,"a,""b""",true,2026-11-21T08:00:00Z,"{""x"":[1,""y""]}"
                    2026-11-21 10:00:00.020000000Z,,"",,,"""text"""
                    2026-11-21 10:00:00.030000000Z,1152921504606846977,,false,"",""""""
                    2026-11-21 10:00:00.040000000Z,1,"12, rue X",true,2026-11-21T08:00:00Z,6

                    """#)
        }
    }

    @Test func aStreamIsATableWithItsDigits() throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            #expect(session.directory.verify().findings.filter { $0.verdict == .damaged } == [])
            let exported = try Exported(session.directory, to: directory.appending("out"), .csv)
            #expect(
                try exported.text("s1/left-wrist_accelerometer.csv") == """
                    time,x,y,z
                    2026-11-21 10:00:00.010000000Z,-0.078923,0.5,1
                    2026-11-21 10:00:00.020000000Z,1e-05,-0,1.7976931348623157e+308
                    2026-11-21 10:00:00.060000000Z,,NaN,-Infinity
                    2026-11-21 10:00:01.000000001Z,0.1,0.2,0.3
                    2026-11-21 10:00:01.500000000Z,4,5,6

                    """)
            #expect(
                try exported.text("s1/gaps.tsv") == """
                    stream\tafter\tbefore\treason\tepoch\tfrom\tcount
                    left-wrist/accelerometer\t2026-11-21 10:00:00.020000000Z\t2026-11-21 10:00:00.060000000Z\tnotRetained\tE1\t2\t3
                    left-wrist/accelerometer\t2026-11-21 10:00:00.060000000Z\t2026-11-21 10:00:01.000000001Z\tpaused\tE1\t6\t93
                    left-wrist/accelerometer\t2026-11-21 10:00:01.000000001Z\t2026-11-21 10:00:01.500000000Z\tnewEpoch\tE2\t0\t0

                    """)
            #expect(
                try exported.text("s1/events.tsv") == """
                    time\tevent\tstep
                    2026-11-21 10:00:00.000000000Z\tstart\tWalk/out
                    2026-11-21 10:00:00.065000000Z\tstep\tWalk/back
                    2026-11-21 10:00:00.070000000Z\tpause\t
                    2026-11-21 10:00:01.000000000Z\tresume\t
                    2026-11-21 10:00:02.000000000Z\tstop\t

                    """)
            #expect(exported.outcome.samples == 5)
            #expect(exported.outcome.hasLoss)
            #expect(
                try exported.files.keys.sorted() == [
                    "s1/events.tsv", "s1/gaps.tsv", "s1/left-wrist_accelerometer.csv", "s1/provenance.json",
                ])
        }
    }

    @Test(arguments: [(ExportClock.recorder, "0.01,"), (.own, "0.01,")])
    func timesAreSecondsOnRequest(_ clock: ExportClock, _ beginning: String) throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            let exported = try Exported(session.directory, to: directory.appending("out"), .csv) { $0.clock = clock }
            let lines = try exported.text("s1/left-wrist_accelerometer.csv").split(separator: "\n")
            #expect(lines[1].hasPrefix(beginning))
            #expect(lines[4].hasPrefix("1.000000001,0.1"))
        }
    }

    @Test(arguments: LogFormat.allCases)
    func everyFormatOfStreamFilesGivesTheSameTable(_ format: LogFormat) throws {
        try withTemporaryDirectory { directory in
            let session = try MadeSession(in: directory)
            try session.add("a/b", fields: ["x", "y, z"], format: format)
            try session.sample("a/b", 0.5, #"-1.50,"NaN""#)
            try session.rotate("a/b", at: 0.7)
            try session.sample("a/b", 1, "null,2")
            try session.finish(at: 2)
            let exported = try Exported(session.directory, to: directory.appending("out"), .csv) {
                $0.clock = .recorder
            }
            #expect(try exported.text("s1/a_b.csv") == "time,x,\"y, z\"\n0.5,-1.50,NaN\n1,,2\n")
            #expect(!exported.outcome.hasLoss)
        }
    }

    @Test(arguments: LogFormat.allCases)
    func eachValueIsUnderItsOwnNameIfColumnsChanged(_ format: LogFormat) throws {
        try withTemporaryDirectory { directory in
            let session = try MadeSession(in: directory)
            func add(_ name: String, _ former: [String], _ rows: [String]) throws {
                try session.add(name, fields: former, format: format)
                for (index, row) in rows.enumerated() { try session.sample(name, 0.25 + Double(index) / 4, row) }
            }
            func change(_ name: String, to fields: [String], types: [FieldType]? = nil, _ rows: [String]) throws {
                try session.change(name, to: fields, types: types, at: 0.75)
                for (index, row) in rows.enumerated() { try session.sample(name, 1 + Double(index) / 4, row) }
            }
            try add("a/swapped", ["temp", "hum"], ["21,40", "22,41"])
            try change("a/swapped", to: ["hum", "temp"], ["42,23", "43,24"])
            try add("a/wider", ["a"], ["1", "2"])
            try change("a/wider", to: ["a", "b"], ["3,13", "4,14"])
            try add("a/narrower", ["a", "b"], ["1,11", "2,12"])
            try change("a/narrower", to: ["b"], ["13", "14"])
            try add("a/labelled", ["a"], ["1", "2"])
            try change(
                "a/labelled", to: ["label", "a"], types: [.number, .text, .number], [#""up",3"#, #""down",4"#])
            try session.finish(at: 2)
            let exported = try Exported(session.directory, to: directory.appending("out"), .csv) {
                $0.clock = .recorder
            }
            #expect(
                try exported.text("s1/a_swapped.csv")
                    == "time,hum,temp\n0.25,40,21\n0.5,41,22\n1,42,23\n1.25,43,24\n")
            #expect(try exported.text("s1/a_wider.csv") == "time,a,b\n0.25,1,\n0.5,2,\n1,3,13\n1.25,4,14\n")
            #expect(try exported.text("s1/a_narrower.csv") == "time,b,a\n0.25,11,1\n0.5,12,2\n1,13,\n1.25,14,\n")
            #expect(
                try exported.text("s1/a_labelled.csv") == "time,label,a\n0.25,,1\n0.5,,2\n1,up,3\n1.25,down,4\n")
            #expect(!exported.outcome.hasLoss)
            // The topics of MCAP are described before their samples are read.
            let messages = try Exported(session.directory, to: directory.appending("mcap"), .mcap)
            #expect(messages.outcome.samples == 16)
        }
    }

    @Test func twoExportsHaveTheSameBytes() throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            let first = try Exported(session.directory, to: directory.appending("one"), .csv)
            let second = try Exported(session.directory, to: directory.appending("two"), .csv)
            #expect(try first.files == second.files)
        }
    }

    @Test func aSessionThatRunsIsExportedUpToNow() throws {
        try withTemporaryDirectory { directory in
            let session = try MadeSession(in: directory)
            try session.add("a/b", fields: ["x"])
            try session.sample("a/b", 0.1, "1")
            try session.rotate("a/b", at: 0.15)
            try session.sample("a/b", 0.2, "2")
            try session.store()
            let exported = try Exported(session.directory, to: directory.appending("out"), .csv) {
                $0.clock = .recorder
            }
            #expect(try exported.text("s1/a_b.csv") == "time,x\n0.1,1\n0.2,2\n")
            #expect(!exported.outcome.hasLoss)
        }
    }
}
