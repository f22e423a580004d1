import Files
import Glibc
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

@testable import LogManagerCore
@testable import LogStorage

@Suite(.timeLimit(.minutes(1)))
struct ReconciliationTests {
    private static func name(_ number: Int) -> String { "phone_gyro-\(20_261_120_000_000 + number).json" }

    private func scan(_ data: FilePath, into catalog: Catalog, stepSize: Int = 1000) throws -> CatalogChanges {
        let folder = try DataDirectory(data)
        var changes = CatalogChanges()
        for session in Set(try folder.sessions() + catalog.sessions).sorted() {
            let content = try folder.content(of: session)
            var reconciliation = try Reconciliation(of: content, in: catalog, folder: folder, stepSize: stepSize)
            while let step = try reconciliation.step() { changes += step }
        }
        return changes
    }

    @Test func filesThatCameWentOrChangedAreFound() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            for number in 0..<5 { try session.write(Self.name(number), bytes: 10) }
            let catalog = try Catalog(in: data)
            #expect(try scan(data, into: catalog).added == 5)
            #expect(try scan(data, into: catalog).isEmpty)
            let files = try catalog.mark(try catalog.files(limit: 10), receipt: .string("r"), date: .now)

            unlink(session.path(of: Self.name(0)).string)
            try session.append(to: Self.name(1))
            // Rewritten with the same bytes and modification time.
            try session.write(Self.name(2), bytes: 10, modified: files[2].identity.modified)
            try session.write(Self.name(7), bytes: 10)
            let changes = try scan(data, into: catalog)
            #expect(changes.added == 1)
            #expect(changes.gone == [files[0]])
            #expect(changes.changed == [files[1]])
            let now = try catalog.files(limit: 10)
            #expect(now.map(\.name.description) == [1, 2, 3, 4, 7].map(Self.name))
            #expect(now.map { $0.uploaded == nil } == [true, false, false, false, true])
            #expect(now[0].sha256 == nil && now[0].bytes == 11)
            #expect(catalog.usage.totalBytes == 51 && catalog.usage.pendingBytes == 21)
            #expect(try Catalog(in: data).usage == catalog.usage)
            #expect(try scan(data, into: catalog).isEmpty)
            for file in now { #expect(try DataDirectory(data).look(up: file.path) == .found(file.identity)) }
        }
    }

    @Test func hashesComeFromTheSessionsRecord() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data, status: .running)
            try session.write(Self.name(0))
            let hash = String((0..<64).map { Character(String($0 % 16, radix: 16)) })
            try session.list(Self.name(0), sha256: hash)
            let catalog = try Catalog(in: data)
            _ = try scan(data, into: catalog)
            #expect(try catalog.file(at: session.wirePath(of: Self.name(0)))?.sha256 == hash)
            // Other bytes: the listed hash does not apply, now or later.
            try session.write(Self.name(0), modified: 7)
            #expect(try scan(data, into: catalog).changed.count == 1)
            _ = try scan(data, into: catalog)
            #expect(try catalog.file(at: session.wirePath(of: Self.name(0)))?.sha256 == nil)
        }
    }

    /// The recorder may still be writing a file that it has not listed; but a file that an event named stays.
    @Test func whatARecorderWorksOnIsNotCatalogued() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data, status: .running)
            for number in 0..<3 { try session.write(Self.name(number)) }
            try session.list(Self.name(0))
            let catalog = try Catalog(in: data)
            #expect(try scan(data, into: catalog).added == 1)
            #expect(catalog.openSessions == [session.identifier])
            var event = try #require(try DataDirectory(data).find(session.wirePath(of: Self.name(1))))
            #expect(try catalog.add(event).added == 1)
            #expect(try catalog.add(event).isEmpty)
            // An event that comes later.
            event.sha256 = String(repeating: "1e", count: 32)
            #expect(try catalog.add(event).isEmpty)
            #expect(try catalog.file(at: event.path)?.sha256 == event.sha256)
            #expect(try scan(data, into: catalog).isEmpty)
            #expect(try catalog.files(limit: 10).map(\.name.description) == [0, 1].map(Self.name))
            // The session is over, so all its files count.
            session.record.status.advance(to: .finished)
            try session.directory.write(session.record)
            #expect(try scan(data, into: catalog).added == 1)
            #expect(catalog.openSessions.isEmpty)
            #expect(try Catalog(in: data).openSessions.isEmpty)
        }
    }

    /// A damaged `session.json` neither adds nor removes files.
    @Test func withoutARecordWhatIsKnownStays() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            for number in 0..<3 { try session.write(Self.name(number)) }
            let catalog = try Catalog(in: data)
            _ = try scan(data, into: catalog)
            try session.write("session.json", bytes: 3)
            try session.write(Self.name(3))
            unlink(session.path(of: Self.name(1)).string)
            let changes = try scan(data, into: catalog)
            #expect(changes.added == 0)
            #expect(changes.gone.map(\.name.description) == [Self.name(1)])
            #expect(try catalog.files(limit: 10).map(\.name.description) == [0, 2].map(Self.name))
        }
    }

    @Test func aSessionThatIsGoneIsForgotten() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            try session.write(Self.name(0))
            _ = try StoredSession("empty", in: data)
            let catalog = try Catalog(in: data)
            _ = try scan(data, into: catalog)
            #expect(catalog.sessions.map(\.text) == ["empty", "s"])
            let path = session.directory.directory.path.string
            #expect(rename(path, data.appending("away").string) == 0)
            #expect(try scan(data, into: catalog).gone.count == 1)
            #expect(catalog.sessions.map(\.text) == ["empty"])
            #expect(catalog.usage == CatalogUsage())
            #expect(rename(data.appending("away").string, path) == 0)
            #expect(try scan(data, into: catalog).added == 1)
            #expect(try Catalog(in: data).usage == catalog.usage)
        }
    }

    /// An unmounted disk is no reason to forget what was uploaded.
    @Test func withoutRecordingsNothingIsForgotten() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            try session.write(Self.name(0))
            let catalog = try Catalog(in: data)
            _ = try scan(data, into: catalog)
            #expect(rename(data.appending("recordings").string, data.appending("away").string) == 0)
            let error = try #require(throws: RecordingError.self) { try scan(data, into: catalog) }
            #expect(error.code == .notFound)
            #expect(catalog.usage.total.files == 1)
        }
    }

    /// Requests and events continue between a listing and its last step.
    @Test func whatHappensBetweenTheStepsIsSeen() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            let count = Reconciliation.stepSize * 2 + 10
            for number in 0..<count { try session.write(Self.name(number)) }
            let catalog = try Catalog(in: data)
            let folder = try DataDirectory(data)
            // Known before the listing, and removed after it.
            let first = try #require(folder.find(session.wirePath(of: Self.name(count - 1))))
            _ = try catalog.add(first)
            let content = try folder.content(of: session.identifier)
            var reconciliation = try Reconciliation(of: content, in: catalog, folder: folder)
            #expect(try reconciliation.step()?.added == Reconciliation.stepSize)
            let removed = try catalog.beginRemoval(
                of: [try #require(try catalog.file(at: first.path))], reason: .whenFull, date: .now)
            // Finished after the listing.
            let later = session.wirePath(of: try FilePath(session.write(Self.name(count))).lastComponent?.string ?? "")
            _ = try catalog.add(try #require(folder.find(later)))
            #expect(try reconciliation.step()?.added == Reconciliation.stepSize)
            let results = folder.remove(removed, of: session.identifier, reason: .whenFull, date: .now)
            #expect(results.allSatisfy { $0.refusal == nil })
            try catalog.endRemoval(of: removed)
            // Removed without an event.
            unlink(session.path(of: Self.name(count - 2)).string)
            #expect(try reconciliation.step()?.added == 8)
            #expect(try reconciliation.step() == nil)
            #expect(catalog.usage.total.files == count - 1)
            #expect(try catalog.file(at: first.path) == nil)
            #expect(try catalog.file(at: later) != nil)
            #expect(try scan(data, into: catalog).isEmpty)
        }
    }

    /// The result must not depend on the size of the steps, whatever files were added and removed.
    @Test(arguments: [1, 2, 3, 5, 8, 13, 100])
    func stepsOfAnySizeFindTheSame(stepSize: Int) throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix(seed: seed)
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data, logs: ["a", "b", "c"])
            let catalog = try Catalog(in: data)
            let all = ["a", "b", "c"].flatMap { log in (10..<22).map { "\(log)-202611202353\($0).json" } }
            for share in [0.0, 0.5, 1.0, 0.2, 0.0, 0.5] {
                var expected: [String] = []
                for name in all {
                    let exists = session.has(name)
                    let stays = Double.random(in: 0..<1, using: &random) < share
                    if stays, !exists { try session.write(name) }
                    if !stays, exists { unlink(session.path(of: name).string) }
                    if stays { expected.append(name) }
                }
                let known = Set(try catalog.files(limit: .max).map(\.name.description))
                let changes = try scan(data, into: catalog, stepSize: stepSize)
                let listed = try catalog.files(limit: .max).map(\.name.description)
                #expect(listed.sorted() == expected, "seed \(seed)")
                #expect(changes.added == Set(expected).subtracting(known).count, "seed \(seed)")
                #expect(Set(changes.gone.map(\.name.description)) == known.subtracting(expected), "seed \(seed)")
                #expect(changes.changed.isEmpty, "seed \(seed)")
            }
        }
    }

    @Test func aFileThatComesLateMovesTheOnesAfterItOn() throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            let folder = try DataDirectory(data)
            let catalog = try Catalog(in: data)
            let second: Int64 = 1_795_218_781_000_000_000
            let names = [
                "phone_gyro-20261120235301.json", "phone_gyro-20261120235301-01.json",
                "phone_gyro-20261120235301-02.json",
            ]
            for name in [names[0], names[2], names[1]] {
                let path = try session.write(name, modified: second + 5)
                _ = try catalog.add(try #require(folder.find(path)))
            }
            let files = try catalog.files(limit: 10)
            #expect(files.map(\.name.description) == names)
            #expect(files.map { $0.finished.nanosecondsSince1970 - second } == [5, 6, 7])
            #expect(try scan(data, into: catalog).isEmpty)
            #expect(try Catalog(in: data).files(limit: 10) == files)
        }
    }

    /// After any sequence of operations and restarts, the totals equal a recount, the catalog matches the disk, and no file is
    /// removed that was not chosen.
    @Test func totalsAreThoseOfARecount() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix(seed: seed)
        try withTemporaryDirectory { data in
            let sessions = [try StoredSession("a", in: data), try StoredSession("b", in: data)]
            let folder = try DataDirectory(data)
            var catalog = try Catalog(in: data)
            var removing: [CatalogFile] = []
            for step in 0..<400 {
                let session = sessions[Int.random(in: 0..<2, using: &random)]
                let log = ["phone_gyro", "watch_gyro"][Int.random(in: 0..<2, using: &random)]
                let name = "\(log)-202611202353\(10 + Int.random(in: 0..<30, using: &random)).json"
                let bytes = Int.random(in: 1..<50, using: &random)
                let files = try catalog.files(limit: .max).filter { _ in Bool.random(using: &random) }
                let some = Array(files.prefix(3))
                let path = session.wirePath(of: name)
                switch Int.random(in: 0..<12, using: &random) {
                case 0, 1: try session.write(name, bytes: bytes)
                case 2:
                    try session.write(name, bytes: bytes)
                    if let found = folder.find(path) { _ = try catalog.add(found) }
                case 3: unlink(session.path(of: name).string)
                case 4: try catalog.mark(some, receipt: .integer(step), date: .now)
                case 5: try catalog.unmark(some)
                case 6: removing += try catalog.beginRemoval(of: some, reason: .whenFull, date: .now)
                case 7:
                    for file in removing {
                        let results = folder.remove([file], of: file.session, reason: .whenFull, date: .now)
                        if results.first?.refusal == nil {
                            try catalog.endRemoval(of: [file])
                        } else {
                            try catalog.takeBack([file])
                        }
                    }
                    removing = []
                case 8:
                    try catalog.takeBack(removing)
                    removing = []
                case 9: catalog = try Catalog(in: data)
                default: _ = try scan(data, into: catalog, stepSize: Int.random(in: 1...40, using: &random))
                }
                let listed = try catalog.files(limit: .max)
                var recount = CatalogUsage()
                for file in listed { recount.count(file) }
                #expect(catalog.usage == recount, "step \(step), seed \(seed)")
                #expect(catalog.removing.count == removing.count, "step \(step), seed \(seed)")
                #expect(try catalog.interruptedRemovals().map(\.file.id).sorted() == removing.map(\.id).sorted())
            }
            try catalog.takeBack(removing)
            _ = try scan(data, into: catalog)
            #expect(try Catalog(in: data).usage == catalog.usage, "seed \(seed)")
            var onDisk: Set<String> = []
            for session in sessions {
                try folder.open(session.identifier)?.forEachFinished(of: []) { name, _ in
                    onDisk.insert(session.wirePath(of: name.description))
                }
            }
            let listed = try catalog.files(limit: .max)
            #expect(Set(listed.map(\.path)) == onDisk, "seed \(seed)")
            for files in Dictionary(grouping: listed, by: { "\($0.session) \($0.log)" }).values {
                let names = files.map { SegmentOrder($0.name) }
                #expect(names == names.sorted(), "seed \(seed)")
                #expect(zip(files, files.dropFirst()).allSatisfy { $0.finished < $1.finished }, "seed \(seed)")
            }
        }
    }
}
