/// What a socket's owner has taken out of it and put into it since it was asked last, by connection.
package struct SocketTraffic: Sendable {
    /// What was exchanged over one connection.
    package struct Exchange: Sendable {
        /// Bytes on the wire of messages that were taken.
        package var takenBytes = 0
        /// Bytes of replies that were sent.
        package var sentBytes = 0
    }

    /// By the connections' file descriptors, without what `lastBytes` has.
    private var earlier: [Int32: Exchange] = [:]
    /// The connection that a message was taken from last.
    package private(set) var lastDescriptor: Int32 = -1
    /// What was taken from it without another in between: messages come in runs, and each would cost a look into a table.
    private var lastBytes = 0
    /// Messages that were taken.
    package private(set) var messages = 0
    /// Whether no whole message was there at the moment of asking; of a publisher, whether libzmq was done with what subscribers sent and
    /// with those that have gone.
    package var isDrained = false

    package init() {}

    /// Counts a message that was taken.
    package mutating func take(bytes: Int, from descriptor: Int32) {
        messages += 1
        if descriptor != lastDescriptor {
            noteLast()
            lastDescriptor = descriptor
            lastBytes = 0
        }
        lastBytes += bytes
    }

    /// Counts a reply that was sent.
    package mutating func send(bytes: Int, to descriptor: Int32) {
        guard descriptor >= 0 else { return }
        earlier[descriptor, default: Exchange()].sentBytes += bytes
    }

    private mutating func noteLast() {
        // What comes from within the process has no connection.
        if lastDescriptor >= 0 { earlier[lastDescriptor, default: Exchange()].takenBytes += lastBytes }
    }

    /// By the connections' file descriptors.
    package var exchanges: [Int32: Exchange] {
        var all = self
        all.noteLast()
        return all.earlier
    }
}

/// The owner of a socket, who can say how it is used.
protocol ConnectionUser: AnyObject, Sendable {
    /// Hands over the counts, and starts new ones.
    func takeTraffic() async -> SocketTraffic
}
