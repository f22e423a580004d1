/// Cancels an operation that takes too long.
/// - Parameters:
///   - what: what is awaited, for the failure's message.
///   - limit: how long to wait.
/// - Throws: `TestFailure` after the limit, and errors of the operation.
package func withTimeLimit<Result: Sendable>(
    _ limit: Duration, _ what: String, _ operation: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    try await withThrowingTaskGroup(of: Result.self) { tasks in
        tasks.addTask { try await operation() }
        tasks.addTask {
            try await Task.sleep(for: limit)
            throw TestFailure("\(what): not within \(limit)")
        }
        defer { tasks.cancelAll() }
        guard let result = try await tasks.next() else { throw CancellationError() }
        return result
    }
}
