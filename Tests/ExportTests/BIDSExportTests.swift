import Export
import Foundation
import SystemPackage
import TestSupport
import Testing

/// Adding sessions to a Motion-BIDS data set keeps other programs' content.
@Suite(.timeLimit(.minutes(1)))
struct BIDSExportTests {
    private static func made(in data: FilePath) throws -> MadeSession {
        let session = try MadeSession(in: data)
        for name in ["a/b", "a/c"] {
            try session.add(name, fields: ["x"])
            try session.sample(name, 0.25, "1")
        }
        try session.finish(at: 1)
        return session
    }

    private static let scans = "sub-01/sub-01_scans.tsv"
    private static let time = "2026-11-21T10:00:00.250000Z"

    private static func motion(_ system: String, run: Int = 1) -> String {
        "motion/sub-01_task-Walk_tracksys-\(system)_run-\(run)_motion.tsv"
    }

    private static func write(_ text: String, _ name: String, in directory: FilePath) throws {
        try Data(text.utf8).write(to: URL(filePath: directory.appending(name).string))
    }

    @Test func aColumnHasNotTheNameOfTheTablesOwnChannel() throws {
        try withTemporaryDirectory { directory in
            let session = try MadeSession(in: directory)
            try session.add("a/b", fields: ["latency", "x"])
            try session.sample("a/b", 0.25, "1,2")
            try session.finish(at: 1)
            let exported = try Exported(session.directory, to: directory.appending("out"), .bids)
            let table = try exported.text("sub-01/motion/sub-01_task-Walk_tracksys-ab_channels.tsv")
            let names = table.split(separator: "\n").map { line in line.prefix { $0 != "\t" } }
            #expect(names == ["name", "latency", "latency_", "x"])
        }
    }

    @Test func everySpellingOfAGyroscopesUnitIsKnown() throws {
        try withTemporaryDirectory { directory in
            let session = try MadeSession(in: directory)
            try session.add("a/b", unit: "rad s-1")
            try session.sample("a/b", 0.25, "1,2,3")
            try session.finish(at: 1)
            let exported = try Exported(session.directory, to: directory.appending("out"), .bids)
            let table = try exported.text("sub-01/motion/sub-01_task-Walk_tracksys-ab_channels.tsv")
            #expect(table.contains("x\tx\tGYRO\ta\trad/s\n"))
        }
    }

    /// With and without a byte order mark, as Excel and Notepad save them.
    @Test(arguments: ["", "\u{FEFF}"])
    func tablesWithOtherLineEndsKeepTheirLines(mark: String) throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            let out = directory.appending("out")
            _ = try Exported(session.directory, to: out, .bids) { $0.run = 1 }
            try Self.write(
                "\(mark)participant_id\tage\r\nsub-01\t40\r\nsub-09\t50\r\n", "participants.tsv", in: out)
            let first = "\(Self.motion("ab"))\t\(Self.time)"
            try Self.write("\(mark)filename\tacq_time\r\n\(first)\r\n", Self.scans, in: out)
            let exported = try Exported(session.directory, to: out, .bids) { $0.run = 2 }
            #expect(try exported.text("participants.tsv") == "participant_id\tage\nsub-01\t40\nsub-09\t50\n")
            let lines = ["ab", "ac"].map { "\(Self.motion($0, run: 2))\t\(Self.time)\n" }.joined()
            #expect(try exported.text(Self.scans) == "filename\tacq_time\n\(first)\n\(lines)")
        }
    }

    @Test func replacingAnExportKeepsColumnsThatSomebodyAdded() throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            let out = directory.appending("out")
            _ = try Exported(session.directory, to: out, .bids) { $0.run = 1 }
            // One line is too short, as an earlier version wrote it.
            try Self.write(
                "filename\troom\tacq_time\toperator\n\(Self.motion("ab"))\tB 12\tnever\tAda\n\(Self.motion("ac"))\tnever\n",
                Self.scans, in: out)
            let exported = try Exported(session.directory, to: out, .bids) {
                $0.run = 1
                $0.replaces = true
            }
            #expect(
                try exported.text(Self.scans) == """
                    filename\troom\tacq_time\toperator
                    \(Self.motion("ab"))\tB 12\t\(Self.time)\tAda
                    \(Self.motion("ac"))\tnever\t\(Self.time)\tn/a

                    """)
        }
    }

    /// A data set is invalid if it lists files that do not exist.
    @Test func aStreamThatIsNotExportedAgainIsNotListed() throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            let out = directory.appending("out")
            for run in [1, 2] { _ = try Exported(session.directory, to: out, .bids) { $0.run = run } }
            let exported = try Exported(session.directory, to: out, .bids) {
                $0.run = 1
                $0.replaces = true
                $0.streams = ["a/c"]
            }
            let listed = try exported.text(Self.scans).split(separator: "\n").dropFirst().map { line in
                String(line.prefix { $0 != "\t" })
            }
            #expect(listed == [Self.motion("ac"), Self.motion("ab", run: 2), Self.motion("ac", run: 2)])
            let files = try exported.files.keys
            #expect(files.filter { $0.contains("tracksys-ab_run-1") } == [])
            #expect(files.count { $0.contains("tracksys-ab_run-2") } == 5)
            #expect(files.contains("participants.tsv") && files.contains("dataset_description.json"))
        }
    }
}
