/// What a socket's owner has taken out of it and put into it since it was asked last, by connection.
struct SocketTraffic: Sendable {
    /// What was exchanged over one connection.
    struct Exchange: Sendable {
        /// Bytes on the wire of messages that were taken.
        var takenBytes = 0
        /// Bytes of replies that were sent.
        var sentBytes = 0
    }

    /// By the connections' file descriptors, without what `lastBytes` has.
    private var earlier: [Int32: Exchange] = [:]
    /// The connection that a message was taken from last.
    private(set) var lastDescriptor: Int32 = -1
    /// What was taken from it without another in between: messages come in runs, and each would cost a look into a table.
    private var lastBytes = 0
    /// Messages that were taken.
    private(set) var messages = 0
    /// Whether no whole message was there at the moment of asking.
    var isDrained = false

    /// Counts a message that was taken.
    mutating func take(bytes: Int, from descriptor: Int32) {
        messages += 1
        if descriptor != lastDescriptor {
            noteLast()
            lastDescriptor = descriptor
            lastBytes = 0
        }
        lastBytes += bytes
    }

    /// Counts a reply that was sent.
    mutating func send(bytes: Int, to descriptor: Int32) {
        guard descriptor >= 0 else { return }
        earlier[descriptor, default: Exchange()].sentBytes += bytes
    }

    private mutating func noteLast() {
        // What comes from within the process has no connection.
        if lastDescriptor >= 0 { earlier[lastDescriptor, default: Exchange()].takenBytes += lastBytes }
    }

    /// By the connections' file descriptors.
    var exchanges: [Int32: Exchange] {
        var all = self
        all.noteLast()
        return all.earlier
    }
}

/// The owner of a socket, who can say how it is used.
protocol ConnectionUser: AnyObject, Sendable {
    /// Hands over the counts, and starts new ones.
    func takeTraffic() async -> SocketTraffic
    /// Has libzmq let go of what connections left that were cut. It may take as long as a flood goes on, so it is done on
    /// no thread that cuts others.
    @concurrent
    func settle() async
}

extension ConnectionUser {
    /// Sockets that are read are settled whenever they are.
    @concurrent
    func settle() async {}
}
