import Messages

/// The one line on standard output that reports that a program listens on all its sockets:
/// `{"publish":"tcp://127.0.0.1:5560","ready":"recorder","reply":"tcp://127.0.0.1:5561"}`.
///
/// The process that started the program waits for the line, and reads the actual ports from it if `*` was configured.
package struct ReadyLine: Codable, Hashable, Sendable {
    /// The program's name.
    package let ready: String
    /// The endpoint at which it publishes.
    package let publish: String
    /// The endpoint at which it answers requests.
    package let reply: String
    /// The URL of its metrics, if it serves any.
    package let metrics: String?

    package init(_ program: Program, at endpoints: ServiceEndpoints) {
        ready = program.rawValue
        publish = endpoints.publish
        reply = endpoints.reply
        metrics = endpoints.metrics
    }

    /// The line, including its line break.
    package var bytes: [UInt8] {
        get throws { try WireCoding.encode(self) + [UInt8(ascii: "\n")] }
    }
}
