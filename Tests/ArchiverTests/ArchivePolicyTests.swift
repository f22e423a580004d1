import Messages
import Recording
import ServiceKit
import Testing

@testable import ArchiveStorage
@testable import ArchiverCore
@testable import Upload

/// The next step of a session, decided only from the state on disk.
@Suite(.timeLimit(.minutes(1)))
struct ArchivePolicyTests {
    private static let confirmed = WallTime(nanosecondsSince1970: 1_795_219_200_000_000_000)

    static func record(encrypted: Bool = true) throws -> ArchiveRecord {
        let name = encrypted ? "s1.zip.p7m" : "s1.zip"
        var record = ArchiveRecord(try SessionIdentifier("s1"), made: [], logs: [], date: confirmed)
        let hash = String(repeating: "0f", count: 32)
        record.archives = [ArchiveRecord.Archive(name: name, bytes: 10, sha256: hash, isEncrypted: encrypted)]
        record.files = [ArchiveRecord.File(name: "a-20261121000000.json", bytes: 5, sha256: hash, archive: name)]
        return record
    }

    static func receipt(_ record: ArchiveRecord) -> ArchiveReceipt {
        ArchiveReceipt(
            record,
            record.archives.map { archive in
                ArchiveReceipt.Confirmed(
                    archive: archive,
                    confirmation: UploadConfirmation(
                        location: "file:///out/\(archive.name)", bytes: archive.bytes, sha256: archive.sha256,
                        proof: .readBack, checksum: archive.sha256, wasThere: false, date: confirmed))
            })
    }

    private let uploading = ArchivePolicy(uploads: true, encrypts: true)

    /// Recorders and log-manager find later annotations by this number.
    @Test func receiptsAndMarksStateTheLastAnnotation() throws {
        var record = try Self.record()
        record.lastAnnotation = 3
        let receipt = Self.receipt(record)
        #expect(receipt.lastAnnotation == 3)
        guard case .object(let mark) = receipt.mark(for: receipt.archives[0]) else {
            Issue.record("a mark is an object")
            return
        }
        #expect(mark["lastAnnotation"] == .integer(3))
    }

    @Test func aSessionThatIsOverIsArchivedOnce() throws {
        #expect(uploading.step(for: SessionView(exists: true, isOver: false), at: .now) == .done)
        #expect(uploading.step(for: SessionView(exists: true, isOver: true), at: .now) == .make)
        let view = SessionView(exists: true, isOver: true, record: try Self.record(), archiveExists: true)
        #expect(uploading.step(for: view, at: .now) == .upload)
        #expect(ArchivePolicy().step(for: view, at: .now) == .done)
    }

    @Test func anArchiveThatIsGoneBeforeItsReceiptIsMadeAnew() throws {
        var view = SessionView(exists: true, isOver: true, record: try Self.record(), archiveExists: false)
        #expect(uploading.step(for: view, at: .now) == .make)
        view.exists = false
        view.isOver = false
        #expect(uploading.step(for: view, at: .now) == .done)
    }

    @Test func aPlainArchiveIsNotUploadedWhereArchivesAreEncrypted() throws {
        let view = SessionView(
            exists: true, isOver: true, record: try Self.record(encrypted: false), archiveExists: true)
        #expect(uploading.step(for: view, at: .now) == .refuse("s1.zip"))
        #expect(ArchivePolicy(uploads: true).step(for: view, at: .now) == .upload)
    }

    @Test func withAReceiptNothingIsMadeOrUploadedAgain() throws {
        var view = SessionView(exists: true, isOver: true, record: try Self.record())
        var receipt = Self.receipt(try Self.record())
        view.receipt = receipt
        #expect(uploading.step(for: view, at: .now) == .mark)
        #expect(ArchivePolicy().step(for: view, at: .now) == .mark)
        receipt.marked = Self.confirmed
        view.receipt = receipt
        #expect(uploading.step(for: view, at: .now) == .done)
        view.archiveExists = true
        #expect(uploading.step(for: view, at: .now) == .done)
    }

    @Test func localCopiesGoWhenTheirTimeIsOverAndNotBeforeTheMarks() throws {
        var policy = uploading
        policy.keepArchives = .time(.seconds(10))
        policy.keepRecordings = .time(.seconds(20))
        func after(_ seconds: Int64) -> WallTime {
            WallTime(nanosecondsSince1970: Self.confirmed.nanosecondsSince1970 + seconds * 1_000_000_000)
        }
        var receipt = Self.receipt(try Self.record())
        var view = SessionView(exists: true, isOver: true, receipt: receipt, archiveExists: true)
        #expect(policy.step(for: view, at: after(100)) == .mark)
        receipt.marked = after(1)
        view.receipt = receipt
        #expect(policy.step(for: view, at: after(9)) == .later(after(10)))
        #expect(policy.step(for: view, at: after(10)) == .removeArchives)
        view.archiveExists = false
        #expect(policy.step(for: view, at: after(10)) == .later(after(20)))
        #expect(policy.step(for: view, at: after(20)) == .removeRecordings)
        receipt.removed = after(21)
        view.receipt = receipt
        #expect(policy.step(for: view, at: after(22)) == .done)
    }

    /// This also holds if other files of the session were removed meanwhile.
    @Test func aFileThatWasNotMarkedIsMarkedAndRemovedWhenSomebodyAsks() throws {
        var receipt = Self.receipt(try Self.record())
        receipt.marked = .now
        receipt.removed = .now
        #expect(receipt.askingAgain == nil)
        receipt.unmarked = [LogFileOutcome.Refusal(path: "recordings/s1/a", reason: "it was not seen")]
        let again = try #require(receipt.askingAgain)
        #expect(again.marked == nil && again.unmarked == nil && again.removed == nil)
        var policy = ArchivePolicy(uploads: true)
        policy.keepRecordings = .time(.seconds(0))
        var view = SessionView(exists: true, isOver: true, receipt: again)
        #expect(policy.step(for: view, at: .now) == .mark)
        view.receipt?.marked = .now
        #expect(policy.step(for: view, at: .now) == .removeRecordings)
    }

    /// An earlier session of the same name was removed before its archives were.
    @Test func whatIsLeftOfAnEarlierSessionIsDeliveredAndNeverReplaced() throws {
        var record = try Self.record()
        record.archives.append(record.archives[0])
        record.archives[1].name = "s1~1.zip.p7m"
        let names = record.archives.map(\.name)
        var view = SessionView(exists: true, isOver: true)
        view.earlier = SessionView.Earlier(record: record, archives: names)
        #expect(uploading.step(for: view, at: .now) == .upload)
        #expect(ArchivePolicy().step(for: view, at: .now) == .spare("s1.zip.p7m"))
        // An archive was moved away.
        view.earlier?.archives = [names[1]]
        #expect(uploading.step(for: view, at: .now) == .spare("s1~1.zip.p7m"))
        view.isCancelled = true
        #expect(uploading.step(for: view, at: .now) == .done)
        view.isCancelled = false
        view.isOver = false
        #expect(uploading.step(for: view, at: .now) == .done)
        view.earlier = SessionView.Earlier(record: record, archives: names)
        #expect(uploading.step(for: view, at: .now) == .upload)
        // The receipt belongs to another session.
        view.deliver(Self.receipt(record))
        #expect(view.receipt == nil)
        view.isOver = true
        #expect(uploading.step(for: view, at: Self.confirmed) == .spare("s1.zip.p7m"))
        var policy = uploading
        policy.keepArchives = .time(.seconds(10))
        let later = Self.confirmed.adding(10_000_000_000)
        #expect(policy.step(for: view, at: Self.confirmed) == .spare("s1.zip.p7m"))
        #expect(policy.step(for: view, at: later) == .removeArchives)
        view.earlier = nil
        #expect(uploading.step(for: view, at: .now) == .make)
    }

    @Test func receiptsThatDoNotFitToThemselvesAreNotBelieved() throws {
        let record = try Self.record()
        #expect(record.isSound)
        #expect(Self.receipt(record).isSound)
        var other = record
        other.archives[0].name = "s2.zip.p7m"
        #expect(!other.isSound)
        other = record
        other.archives[0].sha256 = "0f"
        #expect(!other.isSound)
        var receipt = Self.receipt(record)
        receipt.archives[0].archive.bytes += 1
        #expect(!receipt.isSound)
    }

    @Test(arguments: [
        ("s1.zip", "s1"), ("s1.zip.p7m", "s1"), ("s1~1.zip.p7m", "s1"), ("s.zip.zip", "s.zip"), ("s1.zip.new", nil),
        (".zip", nil), ("s1.receipt.json", nil),
    ])
    func archivesSayWhoseTheyAre(file: String, session: String?) {
        #expect(ArchiveDirectory.session(ofArchive: file) == session)
    }

    @Test func howLongIsTypedAsPeopleDo() throws {
        #expect(try KeepTime(typed: "always") == .always)
        #expect(try KeepTime(typed: "7d") == .time(.seconds(604_800)))
        #expect(try KeepTime(typed: "\(KeepTime.time(.seconds(90)))") == .time(.seconds(90)))
        #expect(throws: InvalidValue.self) { try KeepTime(typed: "never") }
        #expect(KeepTime.always.deadline(after: .now) == nil)
    }
}
