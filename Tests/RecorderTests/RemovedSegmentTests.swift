import Files
import FoundationEssentials
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// Finished files that log-manager removes during their session.
@Suite(.timeLimit(.minutes(3)))
struct RemovedSegmentTests {
    private func remove(_ path: String, in data: FilePath) throws {
        let file = data.appending(path)
        let (bytes, sha256) = try FinishedFile.measure(file)
        try RemovedFile.append(
            [
                RemovedFile(
                    name: file.lastComponent?.string ?? "", bytes: bytes, sha256: sha256, reason: "whenFull",
                    date: .now)
            ], in: Directory(file.removingLastComponent()))
        try FileManager.default.removeItem(atPath: file.string)
    }

    /// A file may be removed as soon as it is announced as finished: by then, everything about it is on disk.
    @Test func aFileMayGoAtOnce() async throws {
        let publisher = try await FakePublisher()
        try await withTemporaryDirectory { directory in
            let copy = directory.appending("two")
            try await RecorderUnderTest.run(
                listeningTo: [publisher], data: directory.appending("one")
            ) { recorder in
                try await recorder.start("s", publisher, maximumFileSize: 500)
                try await recorder.prime(publisher)
                var removed = 0
                while removed <= 3 {
                    // More samples than fit into one file.
                    for _ in 0..<5 {
                        try publisher.sample(3)
                        try await recorder.hasAll(of: publisher)
                    }
                    // A file is announced once session.json lists it; the slower the disk, the less often session.json is
                    // written.
                    try await eventually("a finished file") { recorder.events.segments.count > removed }
                    for segment in recorder.events.segments.dropFirst(removed) {
                        let record = try recorder.directory().record()
                        #expect(record.logs[0].files.contains { segment.path.hasSuffix("/\($0.name)") })
                        try remove(segment.path, in: recorder.data)
                        removed += 1
                    }
                }
                try await copySession("s", of: recorder, to: copy)
                // Each file has a unique name, although earlier files are gone.
                #expect(Set(recorder.events.segments.map(\.path)).count == recorder.events.segments.count)
                let result = try await recorder.stop()
                #expect(result.report.isWhole)
                #expect(result.logs.first?.samples == publisher.next)
                let verification = try recorder.directory().verify()
                #expect(verification.verdict == .whole, "\(verification.findings)")
                #expect(verification.removed.count == removed)
                #expect(verification.samples + verification.removedSamples == publisher.next)
            }
            try await goOn(publisher, in: copy)
        }
    }

    /// All files but the one being written are removed between a recorder's end and its restart.
    @Test func filesMayGoBetweenTheCrashAndTheRestart() async throws {
        let publisher = try await FakePublisher()
        try await withTemporaryDirectory { directory in
            let copy = directory.appending("two")
            try await RecorderUnderTest.run(
                listeningTo: [publisher], data: directory.appending("one")
            ) { recorder in
                try await recorder.start("s", publisher, maximumFileSize: 500)
                try await recorder.prime(publisher)
                for _ in 0..<20 {
                    try publisher.sample(3)
                    try await recorder.hasAll(of: publisher)
                }
                // A finished file is listed on disk with the next commit.
                try await eventually("finished files on disk") {
                    try recorder.directory().record().logs.first?.files.count ?? 0 > 2
                }
                try await copySession("s", of: recorder, to: copy)
            }
            let record = try SessionDirectory.open(SessionIdentifier("s"), in: copy).record()
            #expect(record.logs[0].files.count > 2)
            for file in record.logs[0].files { try remove("recordings/s/\(file.name)", in: copy) }
            try await goOn(publisher, in: copy)
        }
    }

    /// Resumes an interrupted session, and ends it.
    private func goOn(_ publisher: FakePublisher, in data: FilePath) async throws {
        try await RecorderUnderTest.run(listeningTo: [publisher], data: data) { recorder in
            let before = try recorder.directory().record().logs[0].files
            for _ in 0..<10 {
                try publisher.sample(3)
                try await recorder.describing([publisher]) { try await recorder.hasAll(of: publisher) }
            }
            let result = try await recorder.stop()
            #expect(result.report.isWhole)
            #expect(result.report.restarts?.count == 1)
            let files = try #require(result.logs.first?.files)
            #expect(Array(files.prefix(before.count)) == before.map(\.name))
            #expect(files.count > before.count && Set(files).count == files.count)
            let verification = try recorder.directory().verify()
            #expect(verification.verdict == .whole, "\(verification.findings)")
            #expect(verification.samples + verification.removedSamples == publisher.next)
        }
    }
}
