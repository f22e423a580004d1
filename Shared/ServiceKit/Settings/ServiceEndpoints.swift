/// Where a running program publishes, answers and serves metrics, with real ports.
package struct ServiceEndpoints: Hashable, Sendable {
    /// The PUB socket's endpoint.
    package let publish: String
    /// The REP socket's endpoint.
    package let reply: String
    /// Where metrics are read, if anywhere: `http://127.0.0.1:9550/metrics`.
    package let metrics: String?

    /// The endpoints of a running program.
    package init(publish: String, reply: String, metrics: String? = nil) {
        self.publish = publish
        self.reply = reply
        self.metrics = metrics
    }
}
