import FoundationEssentials
import Messages
import Recording
import SystemPackage
import Testing

@Suite(.timeLimit(.minutes(1)))
struct JournalTests {
    private func entry(_ number: Int) throws -> JournalEntry {
        JournalEntry(
            file: "phone_gyro.json", bytes: 100 * number, samples: 10 * number, epoch: "E1", next: 10 * number,
            date: try WallTime(iso8601: "2026-11-21T02:55:01.123456Z"))
    }

    @Test func entriesAreLinesWithSortedKeys() throws {
        try withTemporaryDirectory { directory in
            let journal = try Journal(creatingIn: directory)
            try journal.append([entry(1), entry(2)])
            #expect(
                try text(of: directory.path.appending("journal.ndjson")) == """
                    {"bytes":100,"date":"2026-11-21T02:55:01.123456Z","epoch":"E1","file":"phone_gyro.json","next":10,"samples":10}
                    {"bytes":200,"date":"2026-11-21T02:55:01.123456Z","epoch":"E1","file":"phone_gyro.json","next":20,"samples":20}

                    """)
        }
    }

    @Test func aCommitIsOneWrite() throws {
        try withTemporaryDirectory { directory in
            let faults = Faults()
            let journal = try Journal(creatingIn: directory, calls: faults.failing(write: .max))
            try journal.append([])
            try journal.append([entry(1), entry(2), entry(3)])
            #expect(faults.writeCount == 1)
        }
    }

    @Test func aTornTailIsPassedOver() throws {
        try withTemporaryDirectory { directory in
            let path = directory.path.appending("journal.ndjson")
            let journal = try Journal(creatingIn: directory)
            let entries = try (1...3).map { try entry($0) }
            try journal.append(entries)
            let whole = try Data(contentsOf: URL(filePath: path.string))
            let lineLength = whole.count / 3
            for length in 0...whole.count {
                try whole.prefix(length).write(to: URL(filePath: path.string))
                let contents = try Journal.read(in: directory)
                let lines = length / lineLength
                #expect(contents.entries == Array(entries.prefix(lines)))
                #expect(contents.validBytes == lines * lineLength)
            }
            // A power cut may leave zeros, or half of a line in front of others.
            try (whole + Data(count: 100)).write(to: URL(filePath: path.string))
            #expect(try Journal.read(in: directory).entries == entries)
            try (whole.prefix(lineLength + 7) + whole).write(to: URL(filePath: path.string))
            #expect(try Journal.read(in: directory).entries == Array(entries.prefix(1)))
        }
    }

    @Test func aFailedCommitLeavesTheOnesBefore() throws {
        try withTemporaryDirectory { directory in
            let journal = try Journal(creatingIn: directory, calls: Faults().failing(write: 2, after: 30))
            try journal.append([entry(1)])
            #expect(throws: RecordingError.self) { try journal.append([entry(2)]) }
            #expect(try Journal.read(in: directory).entries == [entry(1)])
            try journal.append([entry(3)])
            #expect(try Journal.read(in: directory).entries == [entry(1), entry(3)])
        }
    }

    @Test func aJournalThatIsNotThereIsSaidToBeMissing() throws {
        try withTemporaryDirectory { directory in
            let error = try #require(throws: RecordingError.self) { try Journal.read(in: directory) }
            #expect(error.code == .notFound)
        }
    }
}
