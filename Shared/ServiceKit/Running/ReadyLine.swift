import Messages

/// The one line on standard output that says that a program listens on all its sockets:
/// `{"publish":"tcp://127.0.0.1:5560","ready":"recorder","reply":"tcp://127.0.0.1:5561"}`.
///
/// Whoever started the program waits for it, and finds in it the ports where `*` was asked.
package struct ReadyLine: Codable, Hashable, Sendable {
    /// The program's name.
    package let ready: String
    /// Where it publishes.
    package let publish: String
    /// Where it answers requests.
    package let reply: String
    /// Where its metrics are, if it serves any.
    package let metrics: String?

    /// The line of a program that listens.
    package init(_ program: Program, at endpoints: ServiceEndpoints) {
        ready = program.rawValue
        publish = endpoints.publish
        reply = endpoints.reply
        metrics = endpoints.metrics
    }

    /// The line with its line break.
    package var bytes: [UInt8] {
        get throws { try WireCoding.encode(self) + [UInt8(ascii: "\n")] }
    }
}
