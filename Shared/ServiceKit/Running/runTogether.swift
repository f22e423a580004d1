import ServiceLifecycle

/// Runs the parts of a service, each of which runs until it is cancelled: the first that ends, ends all.
///
/// - Parameters:
///   - parts: run concurrently.
///   - finish: runs when the service begins to shut down, while the parts continue; they end after it.
/// - Throws: the error of the first part that ended, unless it was cancelled.
package func runTogether(
    _ parts: (@Sendable () async throws -> Void)..., finish: @escaping @Sendable () async -> Void = {}
) async throws {
    try await runTogether(parts, finish: finish)
}

/// The same, for any number of parts.
package func runTogether(
    _ parts: [@Sendable () async throws -> Void], finish: @escaping @Sendable () async -> Void = {}
) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for part in parts { group.addTask { try await part() } }
        group.addTask {
            try? await gracefulShutdown()
            await finish()
            throw CancellationError()
        }
        do {
            try await group.next()
        } catch is CancellationError {}
        group.cancelAll()
    }
}
