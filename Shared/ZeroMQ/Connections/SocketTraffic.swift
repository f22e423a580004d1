/// The messages that a socket's owner has received and sent since the last query, by connection.
package struct SocketTraffic: Sendable {
    /// The traffic of one connection.
    package struct Exchange: Sendable {
        /// Received bytes on the wire.
        package var takenBytes = 0
        /// Bytes of sent replies.
        package var sentBytes = 0
    }

    /// By the connections' file descriptors, without `lastBytes`.
    private var earlier: [Int32: Exchange] = [:]
    /// The connection of the last received message.
    package private(set) var lastDescriptor: Int32 = -1
    /// Bytes received from it in a row: messages come in runs, and looking each up in the table would be costly.
    private var lastBytes = 0
    package private(set) var messages = 0
    /// Whether no complete message was waiting at the time of the query; for a publisher, whether libzmq had processed all
    /// subscriptions and removed lost subscribers.
    package var isDrained = false

    package init() {}

    package mutating func take(bytes: Int, from descriptor: Int32) {
        messages += 1
        if descriptor != lastDescriptor {
            noteLast()
            lastDescriptor = descriptor
            lastBytes = 0
        }
        lastBytes += bytes
    }

    package mutating func send(bytes: Int, to descriptor: Int32) {
        guard descriptor >= 0 else { return }
        earlier[descriptor, default: Exchange()].sentBytes += bytes
    }

    private mutating func noteLast() {
        // An in-process message has no connection.
        if lastDescriptor >= 0 { earlier[lastDescriptor, default: Exchange()].takenBytes += lastBytes }
    }

    /// By the connections' file descriptors.
    package var exchanges: [Int32: Exchange] {
        var all = self
        all.noteLast()
        return all.earlier
    }
}

/// The owner of a socket, which reports its traffic.
protocol ConnectionUser: AnyObject, Sendable {
    /// Returns the counts, and resets them.
    func takeTraffic() async -> SocketTraffic
}
