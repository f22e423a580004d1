import Files
import FoundationEssentials
import Messages
import SystemPackage
import TestSupport
import Testing

@testable import Recording

/// Finished files removed by log-manager: during the session, between a crash and the restart, and after the session.
@Suite(.timeLimit(.minutes(5)))
struct RemovalTests {
    /// Records four files: a pause and a gap in the first two, another epoch in the third, and the file being written.
    private func record(_ log: RecordedLog) throws {
        try log.samples(3)
        try log.leaveOut(2)
        try log.samples(1)
        try log.rotate(isListed: true)
        try log.samples(2)
        try log.gap(7)
        try log.samples(1)
        try log.rotate(isListed: true)
        try log.beginEpoch("E2")
        try log.samples(4)
        try log.rotate(isListed: true)
        try log.samples(2)
        try log.commit()
    }

    /// Removes finished files as log-manager does.
    private func remove(
        _ files: ArraySlice<FinishedFile>, of log: RecordedLog, isUploaded: Bool = false, isSaid: Bool = true
    ) throws {
        let date = try WallTime(iso8601: "2026-11-22T00:00:00Z")
        if isSaid {
            try RemovedFile.append(
                files.map {
                    RemovedFile(
                        name: $0.name, bytes: $0.bytes, sha256: $0.sha256, reason: "whenFull", date: date,
                        uploaded: isUploaded ? date : nil)
                }, in: log.directory.directory)
        }
        for file in files { try FileManager.default.removeItem(atPath: log.path(of: file.name).string) }
    }

    private func findings(_ log: RecordedLog) -> [String] { log.directory.verify().findings.map(\.description) }

    @Test(arguments: 0..<4)
    func aSessionWithoutRemovedFilesIsWhole(kind: Int) throws {
        try withRecordedLog(kind) { log in
            try log.samples(3)
            try log.rotate(isListed: true)
            try log.samples(2)
            try log.rotate(isListed: true)
            try log.samples(1)
            try log.finish()
            let files = try log.directory.record().logs[0].files
            try remove(files[0..<1], of: log, isUploaded: true)
            try remove(files[1..<3], of: log)
            let verification = log.directory.verify()
            #expect(verification.verdict == .whole)
            #expect(verification.removed.map(\.name) == files.map(\.name))
            #expect(
                verification.findings.map(\.description) == [
                    "\(files[0].name): removed after upload at 2026-11-22T00:00:00.000000Z (whenFull); it had 3 samples, as session.json says",
                    "\(files[1].name): removed by policy at 2026-11-22T00:00:00.000000Z (whenFull); it had 2 samples, as session.json says",
                    "\(files[2].name): removed by policy at 2026-11-22T00:00:00.000000Z (whenFull); it had 1 sample, as session.json says",
                ])
            #expect(
                verification.summary
                    == "s1: 0 samples of 1 stream in 0 files; 1 file removed after upload, 2 by policy, with 6 samples: whole"
            )
            let summary = try log.directory.summary()
            #expect(summary.streams[0].samples == 6)
            #expect(summary.streams[0].files == [])
            #expect(summary.streams[0].removed?.map(\.name) == files.map(\.name))
            let names = files.map(\.name).joined(separator: " ")
            #expect(
                summary.table.contains("\nphone/gyro: 1 file removed after upload, 2 by policy: \(names)\n"))
        }
    }

    /// Removes files at the beginning, in the middle and at the end, before and after the session's end. The rest is checked as
    /// before.
    @Test(arguments: 0..<4, [false, true])
    func whateverIsRemovedTheRestIsVerified(kind: Int, isOver: Bool) throws {
        for choice in isOver ? [0b0001, 0b0110, 0b1010, 0b1111] : [0b001, 0b110, 0b101] {
            try withRecordedLog(kind) { log in
                try record(log)
                if isOver { try log.finish() }
                let files = try log.directory.record().logs[0].files
                let chosen = files.indices.filter { choice & 1 << $0 != 0 }
                for index in chosen { try remove(files[index...index], of: log) }
                if !isOver { try log.finish() }
                let verification = log.directory.verify()
                let gap =
                    "phone/gyro: lost: 7 samples from 8 of epoch E1, notRetained, given up at 2026-11-21T02:55:01.123456Z"
                #expect(verification.verdict == .loss)
                #expect(verification.findings.filter { $0.verdict != .whole }.map(\.description) == [gap])
                #expect(verification.removed.map(\.name) == chosen.map { files[$0].name })
                #expect(verification.samples + verification.removedSamples == 13)
                // The sums omit files that were removed before.
                let sums = try #require(try log.directory.checksums())
                #expect(chosen.allSatisfy { (sums[files[$0].name] != nil) == isOver })
                #expect(sums[RemovedFile.fileName] == nil)

                // A sample missing from the remaining files is found.
                guard let index = (0..<files.count).first(where: { !chosen.contains($0) }) else { return }
                var record = try log.directory.record()
                record.logs[0].counts.written += 1
                record.logs[0].files[index].samples += 1
                try log.directory.write(record)
                #expect(log.directory.verify().verdict == .damaged)
            }
        }
    }

    @Test func whatNobodySaysToBeRemovedIsMissing() throws {
        try withRecordedLog(0) { log in
            try record(log)
            try log.finish()
            let files = try log.directory.record().logs[0].files
            try remove(files[0..<1], of: log)
            try remove(files[1..<2], of: log, isSaid: false)
            let verification = log.directory.verify()
            #expect(verification.verdict == .damaged)
            #expect(verification.findings.contains { $0.description == "\(files[1].name): is missing" })
            #expect(verification.removed.map(\.name) == [files[0].name])
        }
    }

    /// The line names a file with other bytes than were written.
    @Test(arguments: [0, 1])
    func aLineOfAnotherFileIsNoProof(kind: Int) throws {
        try withRecordedLog(0) { log in
            try record(log)
            try log.finish()
            let file = try log.directory.record().logs[0].files[0]
            let date = try WallTime(iso8601: "2026-11-22T00:00:00Z")
            var line = RemovedFile(
                name: file.name, bytes: file.bytes, sha256: file.sha256, reason: "whenFull", date: date)
            if kind == 0 { line.sha256 = String(repeating: "0", count: 64) } else { line.bytes += 1 }
            try RemovedFile.append([line], in: log.directory.directory)
            // While the file exists, the line has no effect.
            #expect(log.directory.verify().verdict == .loss)
            try FileManager.default.removeItem(atPath: log.path(of: file.name).string)
            #expect(log.directory.verify().verdict == .damaged)
            #expect(findings(log).contains { $0.hasSuffix("what was removed had other bytes than were written") })
            line = RemovedFile(name: file.name, bytes: file.bytes, reason: "whenFull", date: date)
            try RemovedFile.append([line], in: log.directory.directory)
            #expect(log.directory.verify().verdict == .loss)
        }
    }

    @Test(arguments: 0..<4)
    func eachFlippedBitOfTheChecksumsIsFound(kind: Int) throws {
        try withRecordedLog(kind) { log in
            try log.samples(3)
            try log.rotate(isListed: true)
            try log.samples(2)
            try log.finish()
            try remove(log.directory.record().logs[0].files[0..<1], of: log)
            #expect(log.directory.verify().verdict == .whole)
            let path = log.path(of: "SHA256SUMS")
            let whole = try bytes(of: path)
            for index in stride(from: kind, to: whole.count, by: 13) {
                var flipped = whole
                flipped[index] ^= 1
                try write(flipped, to: path)
                #expect(log.directory.verify().verdict == .damaged, "byte \(index)")
            }
        }
    }

    /// Files are removed between a crash and the restart; the rest is as if nothing had been removed.
    @Test(arguments: 0..<4, [false, true])
    func aCutOffSessionGoesOnWithoutThem(kind: Int, isTorn: Bool) throws {
        for choice in [0b001, 0b110, 0b111] {
            try withRecordedLog(kind) { log in
                try record(log)
                try log.samples(3)
                if isTorn {
                    let whole = try bytes(of: log.path)
                    try write(whole.dropLast(log.terminator + 5), to: log.path)
                }
                let files = try log.directory.record().logs[0].files
                let chosen = files.indices.filter { choice & 1 << $0 != 0 }
                let whole = try log.directory.recover()
                for index in chosen { try remove(files[index...index], of: log) }
                let recovered = try log.directory.recover()
                let found = try #require(recovered.logs[log.log])
                #expect(found.positions == whole.logs[log.log]?.positions)
                #expect(recovered.record.logs[0].counts == whole.record.logs[0].counts)
                #expect(recovered.record.logs[0].gaps == whole.record.logs[0].gaps)
                #expect(recovered.record.logs[0].lastUptime == whole.record.logs[0].lastUptime)
                #expect(recovered.record.logs[0].files == files)
                try log.resume(recovered)
                try log.samples(2)
                try log.rotate(isListed: true)
                try log.samples(1)
                try log.finish()
                #expect(log.directory.verify().verdict == .loss)
                #expect(log.directory.verify().removed.count == chosen.count)
                #expect(try log.directory.record().logs[0].files.count == 5)
            }
        }
    }

    /// A gap that was committed but not stored makes the recovery read the whole log; a gap in a removed file stays as stored.
    @Test(arguments: 0..<4)
    func gapsInRemovedFilesAreKept(kind: Int) throws {
        try withRecordedLog(kind) { log in
            try log.samples(2)
            try log.gap(7)
            try log.samples(1)
            try log.rotate(isListed: true)
            try log.samples(1)
            try log.gap(3, isStored: false)
            try log.samples(1)
            try log.commit()
            let expected = try log.directory.recover().record.logs[0]
            #expect(expected.gaps.map(\.count) == [7, 3])
            try remove(log.directory.record().logs[0].files[...], of: log)
            let found = try log.directory.recover().record.logs[0]
            #expect(found.gaps == expected.gaps)
            #expect(found.counts == expected.counts)
        }
    }

    /// Between two files, the session has only removed ones.
    @Test(arguments: 0..<4)
    func aSessionWithoutAnyFileGoesOn(kind: Int) throws {
        try withRecordedLog(kind) { log in
            try record(log)
            let files = try log.directory.record().logs[0].files
            try remove(files[...], of: log)
            let whole = try bytes(of: log.path)
            try FileManager.default.removeItem(atPath: log.path.string)
            let recovered = try log.directory.recover()
            let found = try #require(recovered.logs[log.log])
            #expect(found.file == nil && recovered.record.logs[0].isMarkedStopped != true)
            #expect(recovered.record.logs[0].file != nil)
            #expect(recovered.record.logs[0].counts.written == 11)
            #expect(found.positions.last == Marker.Position(epoch: "E2", next: 4))
            #expect(whole.count > 0)
        }
    }

    /// Only the last files were missing when the session was interrupted, and then its log was removed.
    @Test(arguments: 0..<4)
    func anEndedSessionIsFinishedWithoutItsFiles(kind: Int) throws {
        try withRecordedLog(kind) { log in
            try record(log)
            try log.finish()
            try FileManager.default.removeItem(atPath: log.path(of: "SHA256SUMS").string)
            try remove(log.directory.record().logs[0].files[...], of: log)
            let recovered = try SessionDirectory.recover(
                copyOf: log.directory.directory.path, to: log.data.appending("copy"))
            let verification = recovered.verify()
            #expect(verification.verdict == .loss)
            #expect(verification.removed.count == 4)
            #expect(try recovered.record().status == .finished)
        }
    }

    /// The session failed before it listed its last file, and log-manager considered it finished.
    @Test(arguments: 0..<4)
    func aFileThatWasNotListedIsTakenOver(kind: Int) throws {
        try withRecordedLog(kind) { log in
            try log.samples(3)
            try log.rotate(isListed: true)
            try log.samples(2)
            try log.rotate(isListed: false)
            try log.samples(4)
            try log.commit()
            let expected = try log.directory.recover()
            let file = try #require(expected.record.logs[0].files.last)
            try remove([file], of: log)
            let recovered = try log.directory.recover()
            #expect(recovered.record.logs[0].files == expected.record.logs[0].files)
            #expect(recovered.logs[log.log]?.positions == expected.logs[log.log]?.positions)
            #expect(recovered.record.logs[0].counts == expected.record.logs[0].counts)
            try log.resume(recovered)
            try log.samples(1)
            try log.finish()
            #expect(log.directory.verify().verdict == .whole)
        }
    }

    /// The file was removed before it was certified; it still gets a hash.
    @Test(arguments: [true, false])
    func aFileThatGoesEarlyIsFinished(isSaid: Bool) throws {
        try withRecordedLog(0) { log in
            try log.samples(3)
            let sealed = try log.seal()
            let (bytes, hash) = try FinishedFile.measure(log.path(of: sealed.name.description))
            let file = FinishedFile(name: sealed.name.description, bytes: bytes, samples: 3, sha256: hash)
            try remove([file], of: log, isSaid: isSaid)
            if isSaid {
                #expect(try sealed.complete(hash: nil) == file)
            } else {
                #expect(throws: RecordingError.self) { try sealed.complete(hash: nil) }
            }
        }
    }
}
