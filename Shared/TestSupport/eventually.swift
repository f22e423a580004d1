/// Asks again and again until something is so. Only for what gives no event to wait for: a file's size, say.
/// - Parameters:
///   - what: what is waited for, for the failure's sentence.
///   - limit: how long.
/// - Throws: as `eventualValue`.
package func eventually(
    _ what: String, within limit: Duration = .seconds(50), condition: () async throws -> Bool
) async throws {
    try await eventualValue(what, within: limit) { try await condition() ? true : nil }
}

/// Asks again and again until there is a value. Only for what gives no event to wait for.
/// - Parameters:
///   - what: what is waited for, for the failure's sentence.
///   - limit: how long.
/// - Throws: `TestFailure` when the time is over, and what the probe throws, but for a `DecodingError`: a file that is just being
///   made can't be decoded yet.
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
