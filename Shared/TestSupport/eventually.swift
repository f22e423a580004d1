/// Polls until a condition holds. Only for state without an event to wait for, such as a file's size.
/// - Parameters:
///   - what: what is awaited, for the failure's message.
///   - limit: how long to wait.
/// - Throws: as `eventualValue`.
package func eventually(
    _ what: String, within limit: Duration = .seconds(50), condition: () async throws -> Bool
) async throws {
    try await eventualValue(what, within: limit) { try await condition() ? true : nil }
}

/// Polls until there is a value. Only for state without an event to wait for.
/// - Parameters:
///   - what: what is awaited, for the failure's message.
///   - limit: how long to wait.
/// - Throws: `TestFailure` after the limit, and errors of the probe except `DecodingError`, because a file that is being written
///   can't be decoded yet.
@discardableResult
package func eventualValue<Value>(
    _ what: String, within limit: Duration = .seconds(50), probe: () async throws -> Value?
) async throws -> Value {
    let deadline = ContinuousClock.now + limit
    while true {
        var reason = ""
        do {
            if let value = try await probe() { return value }
        } catch let error as DecodingError {
            reason = ": \(error)"
        }
        guard .now < deadline else { throw TestFailure("\(what): not within \(limit)\(reason)") }
        try await Task.sleep(for: .milliseconds(10))
    }
}
