package import Messages
package import Metrics

/// Metrics that several programs have.
extension Metric {
    package static let freeBytes = Metric(
        .gauge, "holdfast_disk_free_bytes", "Bytes free on the disk of the data directory.")

    static let peerAddresses = Metric(
        .gauge, "holdfast_peer_addresses", "Addresses of the programs that this one listens to.",
        health: "addressesKnown")
    static let connectedPeerAddresses = Metric(
        .gauge, "holdfast_peer_addresses_connected", "Addresses that are connected, of those listened to.",
        health: "addressesConnected")
    static let connectionsCut = Metric(
        .counter, "holdfast_connections_cut_total",
        "Connections that were cut because they exceeded a peer's limits.", health: "connectionsCut")
    static let malformedMessages = Metric(
        .counter, "holdfast_malformed_messages_total", "Messages that could not be read, and were dropped.",
        health: "messagesMalformed")
    static let malformedRequests = Metric(
        .counter, "holdfast_malformed_requests_total", "Requests that could not be read, and were refused.",
        health: "requestsMalformed")
    static let refusedClients = Metric(
        .counter, "holdfast_refused_clients_total",
        "Clients that were refused for their keys, and requests that were refused for their clients' roles.",
        health: "refusedClients")

    /// Only in health: `/metrics` has this count by socket.
    static let handshakesFailed = Metric(health: "handshakesFailed")

    /// The labels of metrics with one value per stream; `MetricsPage.add(_:_:of:)` sets their values.
    package static let streamLabels = ["device", "stream"]
}

extension MetricsPage {
    package mutating func add(_ metric: Metric, _ value: Double, of stream: StreamName) {
        add(metric, value, stream.device, stream.stream)
    }

    package mutating func add(_ metric: Metric, _ count: Int, of stream: StreamName) {
        add(metric, Double(count), of: stream)
    }
}
