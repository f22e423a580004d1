/// Where a running program publishes and answers, with real ports.
package struct ServiceEndpoints: Hashable, Sendable {
    /// The PUB socket's endpoint.
    package let publish: String
    /// The REP socket's endpoint.
    package let reply: String

    /// The endpoints of a running program.
    package init(publish: String, reply: String) {
        self.publish = publish
        self.reply = reply
    }
}
