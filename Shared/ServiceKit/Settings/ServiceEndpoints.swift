/// The addresses of a running program, with actual ports.
package struct ServiceEndpoints: Hashable, Sendable {
    /// The PUB socket's endpoint.
    package let publish: String
    /// The REP socket's endpoint.
    package let reply: String
    /// The URL of its metrics, if it serves any: `http://127.0.0.1:9550/metrics`.
    package let metrics: String?

    package init(publish: String, reply: String, metrics: String? = nil) {
        self.publish = publish
        self.reply = reply
        self.metrics = metrics
    }
}
