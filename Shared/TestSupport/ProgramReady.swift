/// What a program says when it listens on all its sockets: one line of JSON on standard output.
package struct ProgramReady: Codable, Hashable, Sendable {
    /// The program's name.
    package let ready: String
    /// Where it publishes, with the real port.
    package let publish: String
    /// Where it answers requests, with the real port.
    package let reply: String
    /// Where its metrics are, if it serves any.
    package let metrics: String?

    /// What a program with this name and these endpoints says.
    package init(ready: String, publish: String, reply: String, metrics: String? = nil) {
        self.ready = ready
        self.publish = publish
        self.reply = reply
        self.metrics = metrics
    }
}
