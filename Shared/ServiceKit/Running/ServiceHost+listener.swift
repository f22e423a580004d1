package import MessageBus
import Messages
package import ZeroMQ

extension ServiceHost {
    /// Subscribes to programs. A name that can't be resolved yet is not an error; health reports it.
    /// - Parameters:
    ///   - topics: the prefixes of the messages' topics.
    ///   - program: the program that publishes at the endpoints.
    ///   - endpoints: addresses, or names with any number of addresses.
    ///   - isNeeded: whether health reports a missing program; false if this program can do without it.
    ///   - names: looks names up.
    package func listener(
        to topics: [String], of program: Program, at endpoints: [Endpoint], options: SocketOptions = SocketOptions(),
        isNeeded: Bool = true, names: NameLookup = .system
    ) async throws -> Listener {
        // Only a program that listens can receive one: 0 reports that none came.
        health.measure(.malformedMessages, 0)
        return try await peers.listener(
            to: topics, of: program, at: endpoints, options: options, isNeeded: isNeeded, names: names, health: health,
            logger: logger)
    }

    /// Subscribes to publishers' descriptions of their streams, and records each sender's address: descriptions name the
    /// endpoint that replays samples, which may be wrong.
    /// - Parameters:
    ///   - receiveHighWaterMark: how many messages of each publisher may wait in the socket.
    ///   - messageBytes: their maximum average size. A publisher whose waiting messages exceed the product is disconnected, so
    ///     it must be more than an honest publisher sends while this program is not reading.
    package func listenerToStreams(
        at endpoints: [Endpoint], receiveHighWaterMark: Int, messageBytes: Int = 0
    ) async throws -> Listener {
        let options = SocketOptions(receiveHighWaterMark: receiveHighWaterMark, messageBytes: messageBytes)
        let listener = try await listener(
            to: [TopicArea.stream], of: .sensorPublisher, at: endpoints, options: options)
        await listener.tellOrigins(of: TopicArea.stream)
        return listener
    }
}

extension SocketOptions {
    /// Creates the options of a socket in which this many messages of this average size may wait for each publisher.
    package init(receiveHighWaterMark: Int, messageBytes: Int) {
        self.init()
        self.receiveHighWaterMark = receiveHighWaterMark
        maximumWaitingBytes = max(maximumWaitingBytes, receiveHighWaterMark * messageBytes)
    }
}
