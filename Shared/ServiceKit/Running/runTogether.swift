import ServiceLifecycle

/// Runs the parts of a service, each of which continues until it is cancelled: the first that ends, ends all.
///
/// - Parameters:
///   - parts: what runs at the same time.
///   - finish: what is still to be done when the service is told to stop, while the parts continue; they end after it.
/// - Throws: what the first that ended threw, unless it was cancelled.
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
