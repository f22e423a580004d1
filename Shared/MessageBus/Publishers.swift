import Messages
package import ZeroMQ

/// How a program asks publishers. Each task that asks has a socket of its own, so that a publisher which does not
/// answer keeps nobody waiting but those who ask it.
package struct Publishers: Sendable {
    /// How long one answer to a request for missing samples may take.
    private static let replayTimeout = Duration.seconds(2)
    /// The pause before a publisher that did not answer is asked again.
    private static let retryPause = Duration.milliseconds(100)

    private let connect: @Sendable (_ endpoint: String) throws(ZeroMQError) -> RequestClient

    /// Asks over sockets that a closure opens.
    package init(connectingBy connect: @escaping @Sendable (_ endpoint: String) throws(ZeroMQError) -> RequestClient) {
        self.connect = connect
    }

    /// A client for an endpoint that a stream's description names.
    package func client(for endpoint: String) throws(ZeroMQError) -> RequestClient {
        try connect(endpoint)
    }

    /// Asks for a stream's missing samples until none is missing.
    /// - Parameter limit: how long a publisher that does not answer is asked for the same; what it has not said by then is
    ///   given up.
    package func recover(_ stream: some RecoveringStream, limit: Duration) async throws {
        var deadline = MonotonicClock.now + limit.inNanoseconds
        var client: RequestClient?
        while let missing = await stream.missing() {
            let request = missing.request
            do {
                if client?.endpoint != missing.endpoint { client = nil }
                let publisher = try client ?? self.client(for: missing.endpoint)
                client = publisher
                let left = Duration.nanoseconds(max(1_000_000, deadline - MonotonicClock.now))
                let (reply, frames) = try await publisher.sendForFrames(
                    request, timeout: min(Self.replayTimeout, left))
                await stream.take(reply, frames, for: request)
                deadline = MonotonicClock.now + limit.inNanoseconds
            } catch let error as RequestError {
                let isGone = error.data?.reason == RequestError.Reason.unknownEpoch.word
                await stream.giveUp(request, reason: isGone ? .epochEnded : .notRetained)
            } catch is MessageError {
                await stream.giveUp(request, reason: .malformed)
            } catch is ZeroMQError {
                guard MonotonicClock.now < deadline else {
                    await stream.giveUp(request, reason: .publisherUnreachable)
                    // What is missing next gets its own time.
                    deadline = MonotonicClock.now + limit.inNanoseconds
                    continue
                }
                try await Task.sleep(for: Self.retryPause)
            }
        }
    }
}
