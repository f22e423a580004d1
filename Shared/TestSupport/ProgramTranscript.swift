import Synchronization

/// The output of a program under test so far, and how it ended. Every change wakes the waiting tasks.
final class ProgramTranscript: Sendable {
    /// A snapshot of the transcript.
    struct Record: Sendable {
        var output: [UInt8] = []
        var error: [UInt8] = []
        var end: ProgramEnd?
        /// Why nothing more will come, if the program could not be started or watched.
        var failure: (any Error)?

        var outputText: String { String(decoding: output, as: UTF8.self) }
        var errorText: String { String(decoding: error, as: UTF8.self) }

        /// Whole lines of standard output, without their line breaks.
        var lines: [Substring] {
            outputText.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        }
    }

    private struct State {
        var record = Record()
        var waiters: [Int: AsyncStream<Void>.Continuation] = [:]
        var nextWaiter = 0
    }

    /// In bytes. A program that writes more is broken, and must not fill the test's memory.
    private static let maximumBytes = 16 << 20

    private let state = Mutex(State())

    var record: Record { state.withLock { $0.record } }

    func update(_ change: (inout Record) -> Void) {
        let waiters = state.withLock { state in
            change(&state.record)
            return state.waiters.values
        }
        for waiter in waiters { waiter.yield() }
    }

    func append(_ bytes: [UInt8], to stream: WritableKeyPath<Record, [UInt8]>) {
        update { record in
            let room = Self.maximumBytes - record[keyPath: stream].count
            record[keyPath: stream] += bytes.prefix(room)
        }
    }

    /// Waits until the probe finds a value.
    /// - Throws: `TestFailure` with the whole transcript, if the time is over or the program ended first.
    func wait<Value: Sendable>(
        for what: String, within limit: Duration, probe: @escaping @Sendable (Record) -> Value?
    ) async throws -> Value {
        do {
            return try await withTimeLimit(limit, what) {
                let (changes, changed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
                let waiter = self.add(changed)
                defer { self.remove(waiter) }
                changed.yield()
                for await _ in changes {
                    let record = self.record
                    if let value = probe(record) { return value }
                    if let end = record.end { throw TestFailure("\(what): the program \(end) before that") }
                    if let failure = record.failure { throw TestFailure("\(what): \(failure)") }
                }
                throw CancellationError()
            }
        } catch let failure as TestFailure {
            let record = record
            throw TestFailure(
                "\(failure)\n--- standard output\n\(record.outputText)\n--- standard error\n\(record.errorText)")
        }
    }

    private func add(_ waiter: AsyncStream<Void>.Continuation) -> Int {
        state.withLock { state in
            state.nextWaiter += 1
            state.waiters[state.nextWaiter] = waiter
            return state.nextWaiter
        }
    }

    private func remove(_ waiter: Int) {
        state.withLock { _ = $0.waiters.removeValue(forKey: waiter) }
    }
}
