import Glibc
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

@testable import LogManagerCore
@testable import LogStorage

/// A removal is entered in the ledger, unlinked, synced and forgotten. If it is interrupted after any of these steps, the next
/// start completes it.
@Suite(.timeLimit(.minutes(1)))
struct RemovalLedgerTests {
    private static let names = (1...3).map { "phone_gyro-2026112023530\($0).json" }

    enum CutOff: CaseIterable {
        case nothing, entered, listed, oneUnlinked, allUnlinked, forgotten
    }

    /// The steps of the program's start.
    private func restart(_ data: FilePath) throws -> Catalog {
        let catalog = try Catalog(in: data)
        let folder = try DataDirectory(data)
        for removal in try catalog.interruptedRemovals() {
            let results = folder.remove(
                [removal.file], of: removal.file.session, reason: removal.reason, date: removal.date)
            if results.first?.refusal == nil {
                try catalog.endRemoval(of: [removal.file])
            } else {
                try catalog.takeBack([removal.file])
            }
        }
        for session in try folder.sessions() {
            _ = try catalog.reconcile(with: try folder.content(of: session), in: folder)
        }
        return catalog
    }

    private func withSession(_ body: (FilePath, StoredSession, [CatalogFile]) throws -> Void) throws {
        try withTemporaryDirectory { data in
            let session = try StoredSession("s", in: data)
            for name in Self.names { try session.write(name, bytes: 10) }
            let catalog = try restart(data)
            let files = try catalog.mark(catalog.files(limit: 10), receipt: .string("r"), date: .now)
            try body(data, session, files)
        }
    }

    @Test(arguments: CutOff.allCases)
    func aRemovalThatIsCutOffIsCompleted(cutOff: CutOff) throws {
        try withSession { data, session, files in
            let chosen = Array(files.prefix(2))
            let date = WallTime.now
            if cutOff != .nothing {
                let catalog = try Catalog(in: data)
                try catalog.beginRemoval(of: chosen, reason: .removeUploaded, date: date)
                // The file no longer counts from now on.
                #expect(catalog.usage.totalBytes == 10)
                #expect(try catalog.files(limit: 10) == [files[2]])
                #expect(try catalog.file(at: files[0].path) == nil)
            }
            if ![.nothing, .entered].contains(cutOff) {
                let removed = chosen.map {
                    RemovedFile(name: $0.name.description, bytes: $0.bytes, reason: "removeUploaded", date: date)
                }
                try RemovedFile.append(removed, in: session.directory.directory)
            }
            let unlinked = [.oneUnlinked: 1, .allUnlinked: 2, .forgotten: 2][cutOff] ?? 0
            for file in chosen.prefix(unlinked) { unlink(session.path(of: file.name.description).string) }
            if cutOff == .forgotten { try Catalog(in: data).endRemoval(of: chosen) }

            if cutOff != .nothing {
                #expect(try Catalog(in: data).usage.totalBytes == 10, "right before it is completed")
            }
            let catalog = try restart(data)
            let left = cutOff == .nothing ? files : [files[2]]
            #expect(try catalog.files(limit: 10) == left)
            #expect(catalog.usage.totalBytes == 10 * left.count)
            #expect(Self.names.filter(session.has) == left.map(\.name.description))
            #expect(try catalog.interruptedRemovals().isEmpty && catalog.removing.isEmpty)
            let removed = Set(try RemovedFile.read(in: session.directory.directory).map(\.name))
            #expect(removed == Set(cutOff == .nothing ? [] : chosen.map(\.name.description)))
            #expect(try catalog.receiptCount() == 1)
        }
    }

    /// A file that was replaced before the removal could be completed is a different file: it stays, and is not marked.
    @Test func aFileThatWasReplacedMeanwhileStays() throws {
        try withSession { data, session, files in
            try Catalog(in: data).beginRemoval(of: files, reason: .whenFull, date: .now)
            try session.write(Self.names[0], bytes: 11)
            let catalog = try restart(data)
            let left = try catalog.files(limit: 10)
            #expect(left.map(\.name.description) == [Self.names[0]])
            #expect(left.map(\.uploaded) == [nil])
            #expect(left.map(\.bytes) == [11])
            #expect(catalog.usage.pendingBytes == 11)
            #expect(session.has(Self.names[0]) && !session.has(Self.names[1]))
        }
    }

    /// A file that cannot be removed reappears with its mark.
    @Test func aFileThatIsRefusedIsAsItWas() throws {
        try withSession { data, session, files in
            #expect(link(session.path(of: Self.names[0]).string, data.appending("kept").string) == 0)
            try Catalog(in: data).beginRemoval(of: [files[0]], reason: .whenFull, date: .now)
            #expect(try restart(data).files(limit: 10) == files)
        }
    }

    /// A disk scan during a removal must not catalog the file again.
    @Test func aFileThatIsBeingRemovedIsNotFoundAnew() throws {
        try withSession { data, session, files in
            let catalog = try Catalog(in: data)
            let folder = try DataDirectory(data)
            try catalog.beginRemoval(of: [files[0]], reason: .whenFull, date: .now)
            let content = try folder.content(of: session.identifier)
            #expect(content.files.count == 3)
            #expect(try catalog.reconcile(with: content, in: folder).isEmpty)
            #expect(try catalog.add(try #require(folder.find(files[0].path))).isEmpty)
            #expect(try Catalog(in: data).reconcile(with: content, in: folder).isEmpty)
            #expect(try catalog.files(limit: 10) == [files[1], files[2]])
        }
    }

    @Test func whatIsNotInTheCatalogIsNotRemoved() throws {
        try withSession { data, _, files in
            let catalog = try Catalog(in: data)
            #expect(try catalog.beginRemoval(of: [files[0], files[0]], reason: .whenFull, date: .now) == [files[0]])
            #expect(try catalog.beginRemoval(of: files, reason: .whenFull, date: .now) == [files[1], files[2]])
            try catalog.endRemoval(of: files)
            #expect(catalog.usage == CatalogUsage())
            #expect(try catalog.receiptCount() == 0)
        }
    }
}
