import Files
import FoundationEssentials
import Glibc
import Messages
import SystemPackage
import TestSupport
import Testing

@testable import Recording

@Suite(.timeLimit(.minutes(5)))
struct SessionVerificationTests {
    /// Lends a session of two files, with a pause and two epochs.
    private func withLog(_ kind: Int, hasGap: Bool = false, _ body: (RecordedLog) throws -> Void) throws {
        try withRecordedLog(kind) { log in
            try log.samples(2)
            try log.leaveOut(3)
            try log.samples(1)
            try log.rotate(isListed: true)
            try log.samples(2)
            try log.beginEpoch("E2")
            try log.samples(1)
            if hasGap { try log.gap(7) }
            try body(log)
        }
    }

    private func verdict(_ log: RecordedLog) throws -> SessionVerification.Verdict {
        try SessionDirectory(at: log.directory.directory.path).verify().verdict
    }

    @Test(arguments: 0..<5)
    func whatWasRecordedIsWhole(kind: Int) throws {
        try withLog(kind) { log in
            try log.finish()
            let verification = log.directory.verify()
            #expect(verification.findings == [])
            #expect(verification.verdict == .whole)
            #expect(verification.summary == "s1: 6 samples of 1 stream in 2 files: whole")
        }
    }

    @Test(arguments: 0..<5)
    func aGapIsALoss(kind: Int) throws {
        try withLog(kind, hasGap: true) { log in
            try log.finish()
            let verification = log.directory.verify()
            #expect(verification.verdict == .loss)
            #expect(
                verification.findings.map(\.description) == [
                    "phone/gyro: lost: 7 samples from 1 of epoch E2, notRetained, given up at 2026-11-21T02:55:01.123456Z"
                ])
        }
    }

    @Test(arguments: 0..<5)
    func aSessionThatIsNotOverIsALoss(kind: Int) throws {
        try withLog(kind) { log in
            try log.commit()
            let verification = log.directory.verify()
            #expect(verification.verdict == .loss)
            #expect(
                verification.findings.map(\.description) == ["session.json: the session is not over, but running"])
        }
    }

    /// Flips one bit of a byte, in every file. A stride of 1 tries every byte, which takes a minute.
    @Test(arguments: 0..<5)
    func eachFlippedBitIsFound(kind: Int) throws {
        try withLog(kind) { log in
            try log.finish()
            var random = SplitMix(seed: UInt64(kind) + 7)
            for name in try log.directory.directory.names().sorted() {
                let path = log.path(of: name)
                let whole = try bytes(of: path)
                let stride = name.hasPrefix("phone") ? 29 : 97
                for index in Swift.stride(from: 7 * kind, to: whole.count, by: stride) {
                    var flipped = whole
                    flipped[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                    try write(flipped, to: path)
                    // Without the session's name nothing can be verified.
                    let verdict = (try? verdict(log)) ?? .damaged
                    #expect(verdict == .damaged, "\(name), byte \(index): \(whole[index]), \(flipped[index])")
                }
                try write(whole, to: path)
            }
            #expect(try verdict(log) == .whole)
        }
    }

    /// Before hashes exist, everything that the journal calls durable must be there.
    @Test(arguments: 0..<5)
    func aLogThatIsShorterThanItsCommitIsFound(kind: Int) throws {
        try withLog(kind) { log in
            try log.commit()
            let whole = try bytes(of: log.path)
            for length in log.states.map(\.end).dropLast() {
                try write(whole[..<length] + whole.suffix(log.terminator), to: log.path)
                #expect(try verdict(log) == .damaged)
            }
            try write(whole + [0], to: log.path)
            #expect(try verdict(log) == .damaged)
        }
    }

    /// The recorder writes to a file while it is read.
    @Test(arguments: 0..<5)
    func aRecordThatWasReadDuringAWriteIsReadAgain(kind: Int) throws {
        try withRecordedLog(kind, .record) { log in
            try log.samples(3)
            try log.commit()
            let whole = try bytes(of: log.path)
            try write(whole.dropLast(log.terminator + 3), to: log.path)
            let file = try OpenFile(log.path, .readOnly, action: "read")
            let session = SessionVerification(of: log.directory) { _, _ in }
            let record = try log.directory.record()
            let verification = LogVerification(log: record.logs[0], record: record, session: session)
            var scanner = try LogScanner(file, format: log.format, root: log.root)
            var samples = 0
            while let next = try scanner.next() { samples += next.isSample ? 1 : 0 }
            let wasClean = scanner.isClean
            #expect(samples == 2 && !wasClean)
            try write(whole, to: log.path)
            while let next = try verification.next(&scanner, of: file) { samples += next.isSample ? 1 : 0 }
            let isClean = scanner.isClean
            #expect(samples == 3 && isClean)
        }
    }

    @Test func whatIsMissingOrTooMuchIsFound() throws {
        try withLog(0) { log in
            try log.finish()
            let directory = log.directory.directory
            for name in try directory.names().sorted() where name != "session.json" {
                let whole = try bytes(of: log.path(of: name))
                try FileManager.default.removeItem(atPath: log.path(of: name).string)
                // Without its last file the session is reported as unfinished; without any other file it is damaged.
                #expect(try verdict(log) == (name == "SHA256SUMS" ? .loss : .damaged), "\(name)")
                for length in [0, whole.count / 2, whole.count - 1] {
                    try write(whole[..<length], to: log.path(of: name))
                    #expect(try verdict(log) == .damaged, "\(name) cut to \(length)")
                }
                try write(whole, to: log.path(of: name))
            }
            try write([1], to: log.path(of: "additional"))
            #expect(try verdict(log) == .damaged)
            try FileManager.default.removeItem(atPath: log.path(of: "additional").string)
            #expect(try verdict(log) == .whole)
            try FileManager.default.removeItem(atPath: log.path(of: "session.json").string)
            #expect(throws: RecordingError.self) { try verdict(log) }
            #expect(log.directory.verify().verdict == .damaged)
        }
    }

    /// An attacker who changes a file may recompute the hashes; inconsistencies between files still reveal the change.
    @Test(arguments: 0..<5)
    func filesThatDoNotFitEachOtherAreFound(kind: Int) throws {
        try withLog(kind) { log in
            try log.finish()
            let original = try log.directory.record()
            let report = try log.directory.report()

            func expectDamage(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
                try log.directory.writeChecksums()
                let verification = log.directory.verify()
                #expect(verification.verdict == .damaged, sourceLocation: sourceLocation)
                #expect(
                    verification.findings.contains { $0.description.contains(text) }, "\(verification.findings)",
                    sourceLocation: sourceLocation)
                try log.directory.write(original)
                try log.directory.write(report)
            }

            // A record twice.
            let file = log.path(of: original.logs[0].files[1].name)
            let whole = try bytes(of: file)
            var scanner = try LogScanner(file, format: log.format, root: log.root)
            _ = try scanner.next()
            let start = scanner.end
            _ = try scanner.next()
            try write(whole[..<scanner.end] + whole[start...], to: file)
            try expectDamage("has 4 samples in place of 3")
            try write(whole[..<start] + whole[scanner.end...], to: file)
            try expectDamage("has 2 samples in place of 3")
            try write(whole, to: file)

            var other = report
            other.streams[0].received += 1
            try log.directory.write(other)
            try expectDamage("report.json: does not match")

            var record = original
            record.logs[0].counts.paused = 0
            try log.directory.write(record)
            try log.directory.write(SessionReport(record))
            try expectDamage("its epochs have 9 samples")

            record = original
            record.logs[0].gaps = [Gap(epoch: "E1", from: 1, count: 1, reason: .notRetained)]
            record.logs[0].epochs[0].next += 1
            try log.directory.write(record)
            try log.directory.write(SessionReport(record))
            try expectDamage("its log does not have the gap")

            record = original
            record.logs[0].files.removeLast()
            try log.directory.write(record)
            try log.directory.write(SessionReport(record))
            try expectDamage("is not in session.json")

            try log.directory.writeChecksums()
            #expect(log.directory.verify().verdict == .whole)
        }
    }

    /// The second epoch is of another boot.
    @Test func aReportWithARateAcrossBootsIsWhole() throws {
        try withLog(0) { log in
            try log.finish()
            var record = try log.directory.record()
            record.logs[0].epochs[1].clock.uptime = 5
            record.logs[0].lastUptime = 1010
            try log.directory.write(record)
            var report = SessionReport(record)
            #expect(report.streams[0].actualRate == nil)
            report.streams[0].actualRate = 200
            try log.directory.write(report)
            try log.directory.writeChecksums()
            #expect(log.directory.verify().findings == [])
        }
    }

    @Test(arguments: 0..<5)
    func aPlaceThatGoesBackIsFound(kind: Int) throws {
        try withRecordedLog(kind) { log in
            try log.samples(3)
            try log.commit()
            // Continues at an earlier position, as if samples were recorded twice.
            let recovered = try log.directory.recover()
            try log.resume(recovered, from: 1)
            #expect(log.directory.verify().findings.contains { $0.text.hasPrefix("goes back to sample 1 of epoch E1") })
        }
    }

    // MARK: Recovery of a copy

    /// Recovers a copy of an interrupted session; the interruption must be the only finding.
    /// - Parameter samples: the expected number of samples.
    private func recoverCopy(
        of log: RecordedLog, samples: Int
    ) throws -> (recovered: SessionDirectory, copy: FilePath) {
        let copy = log.data.appending("copy")
        let recovered = try SessionDirectory.recover(copyOf: log.directory.directory.path, to: copy)
        let verification = recovered.verify()
        #expect(verification.findings.map(\.description) == ["session.json: failure: interrupted; recovered offline"])
        #expect(verification.samples == samples)
        return (recovered, copy)
    }

    /// The write-ahead log had the epoch's description, and is gone.
    @Test(arguments: 0..<5)
    func anEpochOfWhichOnlyRecordsAreLeftIsKept(kind: Int) throws {
        try withRecordedLog(kind, .record) { log in
            try log.samples(3)
            try log.commit()
            let record = try log.directory.record()
            try log.beginEpoch("E2")
            try log.samples(4)
            // The last record of a table may have been longer.
            try log.move(to: "c")
            try log.directory.write(record)
            let (recovered, _) = try recoverCopy(of: log, samples: 7)
            #expect(try recovered.record().logs[0].epochs.map(\.epoch) == ["E1", "E2"])
        }
    }

    @Test(arguments: 0..<5)
    func aCopyIsRecoveredAndTheOriginalStays(kind: Int) throws {
        try withLog(kind) { log in
            try log.commit()
            try log.samples(2)
            let whole = try bytes(of: log.path)
            try write(whole.dropLast(log.terminator + 3), to: log.path)
            let names = try log.directory.directory.names().sorted()
            let (recovered, copy) = try recoverCopy(of: log, samples: 7)
            #expect(try recovered.record().status == .failed)
            #expect(try recovered.report().streams[0].received == 10)
            #expect(try log.directory.directory.names().sorted() == names)
            #expect(try bytes(of: log.path) == Array(whole.dropLast(log.terminator + 3)))
            let error = try #require(throws: RecordingError.self) {
                try SessionDirectory.recover(copyOf: log.directory.directory.path, to: copy)
            }
            #expect(error.code == .alreadyExists)
        }
    }

    /// The copy's own files are newer.
    @Test func aCopyEndsWhenTheOriginalWasInterrupted() throws {
        try withRecordedLog(0, .record) { log in
            try log.samples(3)
            try log.commit()
            try log.samples(4)
            let end = log.record.startDate.adding(20_000_000_000)
            let (seconds, rest) = end.nanosecondsSince1970.quotientAndRemainder(dividingBy: 1_000_000_000)
            let time = timespec(tv_sec: Int(seconds), tv_nsec: Int(rest))
            #expect(utimensat(AT_FDCWD, log.path.string, [time, time], 0) == 0)
            let (recovered, _) = try recoverCopy(of: log, samples: 7)
            #expect(try recovered.record().endDate == end)
        }
    }

    @Test func aSessionThatOnlyLacksItsLastFilesIsWholeAgain() throws {
        try withLog(0) { log in
            try log.stop()
            let recovered = try SessionDirectory.recover(
                copyOf: log.directory.directory.path, to: log.data.appending("a"))
            #expect(recovered.verify().findings == [])
            #expect(try recovered.record().status == .finished)
            // A whole session is only copied.
            let again = try SessionDirectory.recover(
                copyOf: recovered.directory.path, to: log.data.appending("b"))
            #expect(again.verify().verdict == .whole)
        }
    }

    @Test func withoutItsRecordNothingIsRecovered() throws {
        try withLog(0) { log in
            try write([], to: log.path(of: "session.json"))
            #expect(throws: RecordingError.self) {
                try SessionDirectory.recover(copyOf: log.directory.directory.path, to: log.data.appending("copy"))
            }
            #expect(!Directory(log.data.appending("copy")).exists)
        }
    }
}
