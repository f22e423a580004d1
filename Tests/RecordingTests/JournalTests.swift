import FoundationEssentials
import Messages
import Recording
import Synchronization
import SystemPackage
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct JournalTests {
    private func entry(_ number: Int, _ kind: JournalEntry.Kind = .commit, epoch: String = "E1") throws -> JournalEntry
    {
        var counts = StreamCounts()
        counts.written = 10 * number
        return JournalEntry(
            kind, index: number, log: LogName("phone_gyro"), segment: 0, bytes: 100 * number, samples: 10 * number,
            epoch: epoch, next: 10 * number, counts: counts, date: try WallTime(iso8601: "2026-11-21T02:55:01.123456Z"))
    }

    private func entries(in directory: Directory) throws -> [JournalEntry] {
        try Journal.read(in: directory).entries
    }

    @Test func entriesAreLinesWithSortedKeys() throws {
        try withTemporaryDirectory { directory in
            let journal = try Journal(creatingIn: directory)
            try journal.append([entry(1), entry(2, .position)])
            #expect(
                try text(of: directory.path.appending("journal.ndjson")) == """
                    {"bytes":100,"counts":{"duplicates":0,"paused":0,"recovered":0,"written":10},\
                    "date":"2026-11-21T02:55:01.123456Z","epoch":"E1","index":1,"kind":"commit","log":"phone_gyro",\
                    "next":10,"samples":10,"segment":0}
                    {"bytes":200,"counts":{"duplicates":0,"paused":0,"recovered":0,"written":20},\
                    "date":"2026-11-21T02:55:01.123456Z","epoch":"E1","index":2,"kind":"position","log":"phone_gyro",\
                    "next":20,"samples":20,"segment":0}

                    """)
        }
    }

    @Test func linesThatAreAppendedTogetherAreOneWriteAndOnlySyncWaits() throws {
        try withTemporaryDirectory { directory in
            let faults = Faults()
            let journal = try Journal(creatingIn: directory, calls: faults.failing())
            try journal.append([])
            try journal.append([entry(1), entry(2), entry(3)])
            #expect(faults.count(of: .write) == 1)
            #expect(faults.count(of: .sync) == 0)
            try journal.sync()
            // Nothing was added, so there is nothing to wait for.
            try journal.sync()
            #expect(faults.count(of: .sync) == 1)
            try journal.append([entry(4)])
            try journal.sync()
            #expect(faults.count(of: .sync) == 2)
        }
    }

    @Test func aTornTailIsPassedOverAndCutOffOnReopening() throws {
        let entries = try (1...3).map { try entry($0) }
        let whole = try withTemporaryDirectory { directory in
            try Journal(creatingIn: directory).append(entries)
            return try Data(contentsOf: URL(filePath: directory.path.appending(Journal.fileName).string))
        }
        let lineLength = whole.count / 3
        for length in 0...whole.count {
            try withTemporaryDirectory { directory in
                let path = directory.path.appending(Journal.fileName)
                try whole.prefix(length).write(to: URL(filePath: path.string))
                let contents = try Journal.read(in: directory)
                let lines = length / lineLength
                #expect(contents.entries == Array(entries.prefix(lines)))
                #expect(contents.validBytes == lines * lineLength)
                let journal = try Journal(reopeningIn: directory, contents: contents)
                try journal.append(Array(entries[lines...]))
                #expect(try Data(contentsOf: URL(filePath: path.string)) == whole)
            }
        }
        // A power cut may leave zeros, or half of a line in front of others.
        for (bytes, left) in [(whole + Data(count: 100), 3), (whole.prefix(lineLength + 7) + whole, 1)] {
            try withTemporaryDirectory { directory in
                let path = directory.path.appending(Journal.fileName)
                try bytes.write(to: URL(filePath: path.string))
                let contents = try Journal.read(in: directory)
                #expect(contents.entries == Array(entries.prefix(left)))
                try Journal(reopeningIn: directory, contents: contents).append([entry(9)])
                #expect(try self.entries(in: directory) == entries.prefix(left) + [entry(9)])
            }
        }
    }

    @Test func aFailedAppendLeavesTheLinesBefore() throws {
        try withTemporaryDirectory { directory in
            let journal = try Journal(creatingIn: directory, calls: Faults().failing(write: 2, after: 30))
            try journal.append([entry(1)])
            #expect(throws: RecordingError.self) { try journal.append([entry(2)]) }
            #expect(try entries(in: directory) == [entry(1)])
            try journal.append([entry(3)])
            #expect(try entries(in: directory) == [entry(1), entry(3)])
        }
    }

    @Test func aJournalThatIsNotThereIsSaidToBeMissing() throws {
        try withTemporaryDirectory { directory in
            let error = try #require(throws: RecordingError.self) { try Journal.read(in: directory) }
            #expect(error.code == .notFound)
        }
    }

    // MARK: Replacing

    @Test func aLongJournalIsReplacedByWhatIsNeeded() throws {
        try withTemporaryDirectory { directory in
            let journal = try Journal(creatingIn: directory, limit: 4000)
            try journal.append([entry(0, .position, epoch: "E0")])
            for number in 1...200 {
                try journal.append([entry(number)])
                try journal.sync()
                #expect(try directory.path.appending(Journal.fileName).stat().size < 4500)
            }
            try journal.append([entry(201, .position, epoch: "E2")])
            let left = try entries(in: directory)
            #expect(left.count < 20)
            #expect(left.first == (try entry(0, .position, epoch: "E0")))
            #expect(left.last == (try entry(201, .position, epoch: "E2")))
            #expect(left.contains(try entry(200)))
            #expect(try directory.names() == [Journal.fileName])
        }
    }

    @Test func whatIsNeededOfManyEpochsIsNotReplacedEachTime() throws {
        try withTemporaryDirectory { directory in
            let faults = Faults()
            let journal = try Journal(creatingIn: directory, limit: 1000, calls: faults.failing())
            for number in 1...100 {
                try journal.append([entry(number, epoch: "E\(number)")])
                try journal.sync()
            }
            #expect(try Set(entries(in: directory).map(\.epoch)).count == 100)
            // Each time it has twice the length: 4, 8, 16, 32, 64 lines.
            #expect((2...7).contains(faults.count(of: .rename)))
        }
    }

    /// Lines keep coming from another thread while the file is replaced again and again.
    @Test func nothingIsLostThatIsAppendedMeanwhile() async throws {
        try await TestSupport.withTemporaryDirectory { path in
            let directory = Directory(path)
            let journal = try Journal(creatingIn: directory, limit: 2000)
            let positions = Task {
                for number in 0..<200 {
                    try journal.append([entry(2 * number, .position, epoch: "P\(number)")])
                    // Some of the lines are to be durable at once.
                    if number % 3 == 0 { try journal.sync() }
                    await Task.yield()
                }
            }
            for number in 0..<200 {
                try journal.append([entry(2 * number + 1)])
                try journal.sync()
                await Task.yield()
            }
            try await positions.value
            try journal.sync()
            let left = try entries(in: directory)
            #expect(Set(left.map(\.epoch)).isSuperset(of: (0..<200).map { "P\($0)" }))
            #expect(try left.contains(entry(399)))
        }
    }

    /// A line is made durable in the old file while the new one is being written: at the moment of its renaming the new
    /// one has it too, and all of the new one is on disk.
    @Test func whatIsDurableStaysSoWhenTheFileIsReplaced() throws {
        try withTemporaryDirectory { directory in
            let journals = Mutex<[Journal]>([])
            let syncedSize = Shared(0)
            let meanwhile = Shared(0)
            var calls = FileCalls.system
            calls.syncAll = { descriptor throws(Errno) in
                guard try descriptor.stat().type == .regular else { return try FileCalls.system.syncAll(descriptor) }
                try FileCalls.system.syncAll(descriptor)
                syncedSize.value = Int(try descriptor.stat().size)
                guard meanwhile.value < 3, let journal = journals.withLock({ $0.first }) else { return }
                meanwhile.value += 1
                #expect(throws: Never.self) {
                    try journal.append([entry(1000 + meanwhile.value, .position, epoch: "P\(meanwhile.value)")])
                    try journal.sync()
                }
            }
            calls.rename = { old, new throws(Errno) in
                #expect(meanwhile.value == 3)
                #expect(syncedSize.value == Int(try old.stat().size))
                try FileCalls.system.rename(old, new)
            }
            let journal = try Journal(creatingIn: directory, limit: 500, calls: calls)
            journals.withLock { $0 = [journal] }
            for number in 1...3 { try journal.append([entry(number)]) }
            try journal.sync()
            #expect(
                try entries(in: directory) == [entry(3)]
                    + (1...3).map { try entry(1000 + $0, .position, epoch: "P\($0)") })
            journals.withLock { $0 = [] }
        }
    }

    /// Whichever call fails, the journal has all that was appended, and goes on.
    @Test(arguments: Faults.Call.allCases)
    func whateverCallFailsNothingIsForgotten(call: Faults.Call) throws {
        let number = try Faults.each(call) { directory, calls in
            var failures = 0
            func attempt<Value>(_ step: () throws -> Value) throws -> Value {
                do {
                    return try step()
                } catch is RecordingError {
                    failures += 1
                    return try step()
                }
            }
            let journal = try attempt { try Journal(creatingIn: directory, limit: 1500, calls: calls) }
            for number in 1...10 {
                try attempt { try journal.append([entry(number)]) }
                #expect(try entries(in: directory).last == entry(number))
                try attempt { try journal.sync() }
                #expect(try entries(in: directory).last == entry(number))
                // No file is left of an attempt that failed.
                #expect(try directory.names() == [Journal.fileName])
            }
            return failures
        }
        #expect(number > [.write: 10, .resize: 0, .sync: 10, .syncAll: 1, .rename: 1][call, default: .max])
    }
}
