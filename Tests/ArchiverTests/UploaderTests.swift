import FoundationEssentials
import Glibc
import Messages
import Synchronization
import SystemPackage
import TestSupport
import Testing

@testable import Upload

/// The number of parallel uploads, and cancellation.
@Suite(.timeLimit(.minutes(2))) struct UploaderTests {
    /// A receiver that holds uploads until the test releases them.
    private final class Gate: Receiver {
        private struct State {
            var isOpen = false
            var running = 0
            var mostRunning = 0
            var tries = 0
        }
        private let state = Mutex(State())

        func open() { state.withLock { $0.isOpen = true } }
        var running: Int { state.withLock { $0.running } }
        var mostRunning: Int { state.withLock { $0.mostRunning } }
        var tries: Int { state.withLock { $0.tries } }

        func location(of name: String) -> String { "gate:\(name)" }

        func upload(
            _ source: SourceFile, over connection: HTTPConnection, _ throttle: UploadThrottle
        ) throws(UploadError) -> UploadConfirmation {
            state.withLock { state in
                state.running += 1
                state.mostRunning = max(state.mostRunning, state.running)
                state.tries += 1
            }
            defer { state.withLock { $0.running -= 1 } }
            while !state.withLock({ $0.isOpen }) {
                if throttle.isCancelled { throw .cancelled(at: location(of: source.archive.name)) }
                usleep(1_000)
            }
            return UploadConfirmation(
                location: location(of: source.archive.name), bytes: source.archive.bytes, sha256: source.archive.sha256,
                proof: .sha256, checksum: "", wasThere: false, date: .now)
        }
    }

    @Test func asManyGoAtATimeAsWereAsked() async throws {
        try await withTemporaryDirectory { directory in
            let gate = Gate()
            let uploader = try Uploader(to: gate, count: 2)
            let files = try (0..<6).map { _ in try makeArchive(bytes: 10, in: directory) }
            try await withThrowingTaskGroup(of: UploadConfirmation.self) { tasks in
                for file in files { tasks.addTask { try await uploader.upload(file) } }
                try await eventually("two are under way") { gate.running == 2 }
                gate.open()
                var names: Set<String> = []
                for try await confirmation in tasks { names.insert(confirmation.location) }
                #expect(names.count == 6)
            }
            #expect(gate.mostRunning == 2 && gate.tries == 6)
        }
    }

    @Test func whoIsCancelledWhileWaitingTakesNobodysTurn() async throws {
        try await withTemporaryDirectory { directory in
            let gate = Gate()
            let uploader = try Uploader(to: gate)
            let files = try (0..<3).map { _ in try makeArchive(bytes: 10, in: directory) }
            let tasks = files.map { file in Task { try await uploader.upload(file) } }
            try await eventually("one is under way") { gate.running == 1 }
            tasks[1].cancel()
            tasks[0].cancel()
            gate.open()
            for task in tasks { _ = await task.result }
            // Regardless of which upload was first or has ended already.
            #expect(gate.mostRunning == 1)
            let confirmation = try await uploader.upload(files[2])
            #expect(confirmation.bytes == 10)
        }
    }
}
