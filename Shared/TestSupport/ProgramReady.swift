/// The line of JSON that a program prints on standard output when it listens on all its sockets.
package struct ProgramReady: Codable, Hashable, Sendable {
    package let ready: String
    /// The endpoint for events, with the actual port.
    package let publish: String
    /// The endpoint for requests, with the actual port.
    package let reply: String
    /// The address of the metrics, if the program serves any.
    package let metrics: String?

    package init(ready: String, publish: String, reply: String, metrics: String? = nil) {
        self.ready = ready
        self.publish = publish
        self.reply = reply
        self.metrics = metrics
    }
}
