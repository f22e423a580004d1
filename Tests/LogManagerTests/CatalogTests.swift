import Files
import FoundationEssentials
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

@testable import LogManagerCore
@testable import LogStorage

@Suite(.timeLimit(.minutes(1)))
struct CatalogTests {
    /// Reconciles a whole data directory.
    @discardableResult
    private func scan(_ data: FilePath, into catalog: Catalog) throws -> CatalogChanges {
        let folder = try DataDirectory(data)
        var changes = CatalogChanges()
        for session in try folder.sessions() {
            changes += try catalog.reconcile(with: try folder.content(of: session), in: folder)
        }
        return changes
    }

    // MARK: Logs and thresholds

    @Test func rulesOfLogsAreKept() throws {
        try withTemporaryDirectory { data in
            var configuration = LogConfiguration(name: "watch_gyro", format: "csv", maximumFileSize: 7)
            configuration.maximumFileAge = 1.5
            do {
                let catalog = try Catalog(in: data)
                try catalog.set(configuration)
                try catalog.set(LogConfiguration(name: "a"))
                try catalog.set(LogConfiguration(name: "watch_*", format: "tsv"))
                // The last rule of a name applies.
                try catalog.set(LogConfiguration(name: "a", format: "csv"))
            }
            do {
                let catalog = try Catalog(in: data)
                #expect(catalog.rules.logNames == ["a", "watch_gyro"] && catalog.rules.patternNames == ["watch_*"])
                #expect(catalog.rules.configuration(of: LogName("watch_gyro")) == configuration)
                #expect(catalog.rules.configuration(of: LogName("a"))?.format == "csv")
                try catalog.removeRule(of: #require(LogPattern("watch_gyro")))
                try catalog.removeRule(of: #require(LogPattern("watch_gyro")))
            }
            let catalog = try Catalog(in: data)
            #expect(catalog.rules.logNames == ["a"])
            #expect(catalog.rules.configuration(of: LogName("watch_gyro"))?.format == "tsv")
        }
    }

    /// A catalog of version 0.6 has no rules for patterns. It may have names that no log can have, with a rule or without.
    @Test func logsThatWereAddedBeforeThereWerePatternsAreKept() throws {
        try withTemporaryDirectory { data in
            try StoredSession("s", in: data).write("phone_gyro-20261120235301.json", bytes: 10)
            do {
                let catalog = try Catalog(in: data)
                try scan(data, into: catalog)
                try catalog.execute(
                    """
                    DROP TABLE rule;
                    CREATE TABLE configuration (log INTEGER PRIMARY KEY REFERENCES log, format TEXT,
                        maximumFileSize INTEGER NOT NULL, maximumFileAge REAL NOT NULL);
                    INSERT INTO log (id, name) VALUES (7, 'watch_gyro'), (8, 'watch_gyro-20261120235301'),
                        (9, 'watch_gyro-20261120235301-01');
                    INSERT INTO configuration VALUES (7, 'csv', 5000, 60), (8, 'csv', 5000, 60);
                    DELETE FROM grdb_migrations WHERE identifier IN ('2', '3');
                    """)
            }
            let log = LogConfiguration(name: "watch_gyro", format: "csv", maximumFileSize: 5_000, maximumFileAge: 60)
            let catalog = try Catalog(in: data)
            #expect(catalog.rules.logNames == ["watch_gyro"])
            #expect(catalog.rules.configuration(of: LogName("watch_gyro")) == log)
            #expect(catalog.names.logNames.values.map(\.text) == ["phone_gyro"])
            #expect(catalog.usage.totalBytes == 10)
        }
    }

    /// Case 17: the limits are stored, and whether they were crossed.
    @Test func case17_thresholdsAreKept() throws {
        try withTemporaryDirectory { data in
            do {
                let catalog = try Catalog(in: data)
                #expect(catalog.thresholds == LogThresholds())
                #expect(catalog.crossings.allSatisfy { !$0.isCrossed })
                try catalog.setCrossing(Threshold(.totalBytes, isCrossed: true))
                try catalog.setThresholds(LogThresholds(pendingUploadBytes: 12, totalBytes: 10))
            }
            let catalog = try Catalog(in: data)
            #expect(catalog.thresholds == LogThresholds(pendingUploadBytes: 12, totalBytes: 10))
            #expect(catalog.crossings.filter(\.isCrossed).map(\.kind) == [.totalBytes])
        }
    }

    // MARK: Order

    /// Case 19: three files of log 3, then one each of 1, 2 and 1, are listed in the order in which they were finished.
    @Test func case19_filesAreListedInTheOrderOfFinishing() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data, logs: ["1", "2", "3"])
            let names = [
                "3-20261120235301.json", "3-20261120235301-01.json", "1-20261120235302.json", "2-20261120235303.json",
                "1-20261120235304.json",
            ]
            // Written in a different order than finished.
            for name in names.sorted() { try session.write(name) }
            let catalog = try Catalog(in: data)
            try scan(data, into: catalog)
            let files = try catalog.files(limit: 100)
            #expect(files.map(\.log.text) == ["3", "3", "1", "2", "1"])
            #expect(files.map(\.name.description) == names)
            #expect(zip(files, files.dropFirst()).allSatisfy { $0.finished < $1.finished })
        }
    }

    @Test func filesOfOneMomentAreListedByPathInPages() throws {
        try withTemporaryDirectory { data in
            let catalog = try Catalog(in: data)
            let second: Int64 = 1_795_218_781_000_000_000
            var paths: [String] = []
            // As text, "a-b" comes before "a/".
            for name in ["b", "a", "a-b", "c"] {
                let session = try StoredSession(name, in: data)
                for log in ["phone_gyro", "watch_gyro"] {
                    paths.append(try session.write("\(log)-20261120235301.json", modified: second))
                }
            }
            let last = try StoredSession("A", in: data).write("phone_gyro-20261120235302.json")
            try scan(data, into: catalog)
            let expected = paths.sorted() + [last]
            #expect(expected.first?.hasPrefix("recordings/a-b/") == true)
            for limit in [1, 2, 3, 8, 9, 10] {
                var listed: [String] = []
                while true {
                    let page = try catalog.files(after: listed.last, limit: limit)
                    if page.isEmpty { break }
                    #expect(page.count <= limit)
                    listed += page.map(\.path)
                }
                #expect(listed == expected, "limit \(limit)")
            }
            #expect(try catalog.files(limit: 0).isEmpty)
        }
    }

    @Test func listsAreOfALogOrOfWhatIsPending() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            for stamp in 1...4 {
                try session.write("phone_gyro-2026112023530\(stamp).json")
                try session.write("watch_gyro-2026112023530\(stamp).json")
            }
            let catalog = try Catalog(in: data)
            try scan(data, into: catalog)
            let phone = LogName("phone_gyro")
            let files = try catalog.files(of: phone, limit: 10)
            #expect(files.map(\.name.stamp) == (1...4).map { "2026112023530\($0)" })
            try catalog.mark([files[0], files[2]], receipt: nil, date: .now)
            #expect(try catalog.files(of: phone, isPending: true, limit: 10) == [files[1], files[3]])
            #expect(try catalog.files(of: phone, isPending: false, limit: 10).map(\.id) == [files[0].id, files[2].id])
            #expect(try catalog.files(isPending: true, limit: 10).count == 6)
            #expect(try catalog.files(isPending: false, limit: 1).map(\.id) == [files[0].id])
            #expect(try catalog.files(of: phone, isPending: true, after: files[0].path, limit: 1) == [files[1]])
            #expect(try catalog.files(of: LogName("nobody"), limit: 10).isEmpty)
            #expect(try catalog.oldest(of: phone) == files[0].finished)
            #expect(try catalog.oldest(of: LogName("nobody")) == nil)
        }
    }

    /// A page's last file may be removed before the next page is requested.
    @Test func aListGoesOnAfterAFileThatIsGone() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            for stamp in 1...4 { try session.write("phone_gyro-2026112023530\(stamp).json") }
            let catalog = try Catalog(in: data)
            try scan(data, into: catalog)
            let files = try catalog.files(limit: 10)
            try catalog.beginRemoval(of: [files[1]], reason: .whenFull, date: .now)
            #expect(try catalog.files(after: files[1].path, limit: 10) == [files[2], files[3]])
            let error = try #require(throws: RecordingError.self) { try catalog.files(after: "../x", limit: 10) }
            #expect(error.code == .invalidParameter)
        }
    }

    // MARK: Marks

    /// Case 60: marks survive with their receipts, and can be withdrawn.
    @Test func case60_marksAreKept() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            let paths = try (1...3).map { try session.write("phone_gyro-2026112023530\($0).json", bytes: 10 * $0) }
            let receipt = JSONValue.object(["id": .string("r1"), "size": .integer(3)])
            let date = WallTime(nanosecondsSince1970: 1_795_218_790_123_456_789)
            do {
                let catalog = try Catalog(in: data)
                try scan(data, into: catalog)
                #expect(catalog.usage.pendingBytes == 60)
                let files = try catalog.files(limit: 2)
                let marked = try catalog.mark(files + files, receipt: receipt, date: date)
                #expect(marked.map(\.path) == Array(paths.prefix(2)))
                #expect(catalog.usage.pendingBytes == 30)
            }
            do {
                let catalog = try Catalog(in: data)
                #expect(catalog.usage.pendingBytes == 30)
                #expect(catalog.usage.totalBytes == 60)
                let file = try #require(try catalog.file(at: paths[0]))
                #expect(file.uploaded == date)
                #expect(file.receipt == receipt)
                #expect(file.entry.uploaded)
                try catalog.unmark([file])
                #expect(catalog.usage.pendingBytes == 40)
                // A second mark has its own date and receipt.
                let second = try #require(try catalog.file(at: paths[1]))
                try catalog.mark([second], receipt: nil, date: .now)
                #expect(catalog.usage.pendingBytes == 40)
            }
            let catalog = try Catalog(in: data)
            #expect(try catalog.file(at: paths[0])?.uploaded == nil)
            #expect(try catalog.file(at: paths[0])?.receipt == nil)
            #expect(try catalog.file(at: paths[1])?.receipt == nil)
            #expect(try catalog.receiptCount() == 0)
        }
    }

    @Test func aReceiptIsKeptOnceAndAsLongAsAFileHasIt() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            for number in 0..<30 { try session.write("phone_gyro-202611202353\(10 + number).json") }
            let catalog = try Catalog(in: data)
            try scan(data, into: catalog)
            let files = try catalog.mark(catalog.files(limit: 100), receipt: .string("r"), date: .now)
            #expect(try catalog.receiptCount() == 1)
            try catalog.unmark(Array(files[..<10]))
            #expect(try catalog.receiptCount() == 1)
            try catalog.beginRemoval(of: Array(files[10..<20]), reason: .removeUploaded, date: .now)
            try catalog.unmark(Array(files[20...]))
            #expect(try catalog.receiptCount() == 1)
            try catalog.endRemoval(of: files[10..<20])
            #expect(try catalog.receiptCount() == 0)
        }
    }

    @Test func eachFileHasItsOwnReceipt() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            for number in 0..<6 { try session.write("phone_gyro-2026112023530\(number).json") }
            let catalog = try Catalog(in: data)
            try scan(data, into: catalog)
            let files = try catalog.files(limit: 10)
            for (number, file) in files.enumerated() {
                try catalog.mark([file], receipt: .integer(number % 2), date: .now)
            }
            #expect(try catalog.files(limit: 10).map(\.receipt) == (0..<6).map { .integer($0 % 2) })
            #expect(try catalog.receiptCount() == 6)
        }
    }

    @Test func manyFilesAreMarkedInPieces() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            let count = Catalog.batchSize * 2 + 1
            for number in 0..<count { try session.write("phone_gyro-\(20_261_120_000_000 + number).json", bytes: 1) }
            let catalog = try Catalog(in: data)
            #expect(try scan(data, into: catalog).added == count)
            let files = try catalog.files(limit: count)
            #expect(files.count == count)
            #expect(try catalog.mark(files, receipt: .string("r"), date: .now).count == count)
            #expect(catalog.usage.pendingBytes == 0)
            #expect(try catalog.receiptCount() == 1)
            #expect(try Catalog(in: data).usage == catalog.usage)
        }
    }

    // MARK: The database

    @Test func aSpoiledDatabaseIsSaidSoAndLeftAlone() throws {
        try withTemporaryDirectory { data in
            let path = data.appending("catalog/catalog.sqlite")
            try Directory(data.appending("catalog")).create()
            let bytes = Data(repeating: 7, count: 10_000)
            try bytes.write(to: URL(filePath: path.string))
            let error = try #require(throws: RecordingError.self) { try Catalog(in: data) }
            #expect(error.code == .unreadable)
            #expect(error.description.hasPrefix("Could not open \(path): file is not a database."))
            #expect(try Data(contentsOf: URL(filePath: path.string)) == bytes)
        }
    }

    @Test func aPageThatWasOverwrittenIsSaidSo() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            for number in 0..<500 { try session.write("phone_gyro-\(20_261_120_000_000 + number).json") }
            try scan(data, into: try Catalog(in: data))
            let path = data.appending("catalog/catalog.sqlite")
            var bytes = try Data(contentsOf: URL(filePath: path.string))
            // Overwrites everything except the header and the schema.
            for index in 16_384..<bytes.count { bytes[index] = 0xFF }
            try bytes.write(to: URL(filePath: path.string))
            let error = try #require(throws: RecordingError.self) { try Catalog(in: data) }
            #expect(error.code == .unreadable)
            #expect(error.description.contains("disk image is malformed"))
        }
    }

    @Test func aNewerDatabaseIsLeftAlone() throws {
        try withTemporaryDirectory { data in
            try Catalog(in: data).execute("INSERT INTO grdb_migrations (identifier) VALUES ('9')")
            let error = try #require(throws: RecordingError.self) { try Catalog(in: data) }
            #expect(error.code == .unreadable)
            #expect(error.description.contains("a newer log-manager made it"))
        }
    }

    /// A request that was answered survives a power cut.
    @Test func eachCommitIsSynced() throws {
        try withTemporaryDirectory { data in
            let catalog = try Catalog(in: data)
            #expect(try catalog.pragma("journal_mode") == "wal")
            #expect(try catalog.pragma("synchronous") == "2")
        }
    }

    @Test func aFailedTransactionLeavesNothing() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            let path = try session.write("phone_gyro-20261120235301.json")
            for count in 10..<99 { try session.write("phone_gyro-20261120235301-\(count).json") }
            let catalog = try Catalog(in: data)
            // Simulates a full disk: the database may not grow.
            let pages = try catalog.pragma("page_count")
            _ = try catalog.pragma("max_page_count = \(pages)")
            let folder = try DataDirectory(data)
            var isFull = false
            for number in 1...2000 {
                let name = "log\(number)_\(String(repeating: "x", count: 15))"
                do throws(RecordingError) {
                    try catalog.set(LogConfiguration(name: name))
                } catch {
                    #expect(error.code == .noSpace)
                    #expect(catalog.rules.configuration(of: LogName(name)) == nil)
                    isFull = true
                    break
                }
            }
            #expect(isFull)
            #expect(throws: RecordingError.self) {
                for _ in 0..<100 { try catalog.execute("INSERT INTO receipt (json) VALUES (zeroblob(5000))") }
            }
            let content = try folder.content(of: session.identifier)
            #expect(throws: RecordingError.self) { try catalog.reconcile(with: content, in: folder) }
            #expect(try Catalog(in: data).usage == catalog.usage)
            _ = try catalog.pragma("max_page_count = 100000")
            #expect(try catalog.reconcile(with: content, in: folder).added == 90)
            #expect(try Catalog(in: data).file(at: path) == catalog.file(at: path))
        }
    }
}
