package import MessageBus
import Messages
package import ZeroMQ

extension ServiceHost {
    /// Listens to programs. A name that is not known yet is no error: health tells of it.
    /// - Parameters:
    ///   - topics: what their messages' topics begin with.
    ///   - program: which program publishes there.
    ///   - endpoints: where they publish: addresses, or names with any number of addresses.
    ///   - isNeeded: whether health reports that it is away. This program does without another one.
    ///   - names: who looks names up.
    package func listener(
        to topics: [String], of program: Program, at endpoints: [Endpoint], options: SocketOptions = SocketOptions(),
        isNeeded: Bool = true, names: NameLookup = .system
    ) async throws -> Listener {
        // Only a program that listens can get one: 0 says that none came.
        health.measure(.malformedMessages, 0)
        return try await peers.listener(
            to: topics, of: program, at: endpoints, options: options, isNeeded: isNeeded, names: names, health: health,
            logger: logger)
    }

    /// Listens to publishers' descriptions of their streams, and is told where each comes from: they say where to ask for
    /// samples, and may be mistaken.
    /// - Parameters:
    ///   - receiveHighWaterMark: how many messages may wait in the socket for each publisher.
    ///   - messageBytes: how long those may be on average. A publisher whose messages take more together is cut off, so it
    ///     must be more than those of an honest one take while this program does not get to read them.
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
    /// Those of a socket in which so many messages of such a length may wait for each publisher.
    package init(receiveHighWaterMark: Int, messageBytes: Int) {
        self.init()
        self.receiveHighWaterMark = receiveHighWaterMark
        maximumWaitingBytes = max(maximumWaitingBytes, receiveHighWaterMark * messageBytes)
    }
}
