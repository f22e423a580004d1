package import UnixSignals

/// Runs the parts of a command until one of them ends, or until a signal has come and `finish` has returned; then the others
/// are cancelled, and waited for.
/// - Parameter finish: runs when a signal comes.
/// - Throws: the error of the part that ends first.
package func runUntilSignal(
    _ signals: UnixSignalsSequence, _ parts: (@Sendable () async throws -> Void)...,
    finish: @escaping @Sendable () async -> Void
) async throws {
    try await runUntilSignal(signals, parts, finish: finish)
}

/// The same, for any number of parts.
package func runUntilSignal(
    _ signals: UnixSignalsSequence, _ parts: [@Sendable () async throws -> Void],
    finish: @escaping @Sendable () async -> Void
) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for part in parts { group.addTask { try await part() } }
        group.addTask {
            for await _ in signals { break }
            await finish()
        }
        try await group.next()
        group.cancelAll()
        while await group.nextResult() != nil {}
    }
}
