import Messages
import Synchronization
import ZeroMQ

/// How a program asks publishers. Each task that asks has a socket of its own, so that a publisher which does not
/// answer keeps nobody waiting but those who ask it.
package struct Publishers: Sendable {
    /// How long one answer to a request for missing samples may take.
    private static let replayTimeout = Duration.seconds(2)
    /// The pause before a publisher that did not answer is asked again.
    private static let retryPause = Duration.milliseconds(100)

    /// How long a publisher of which nothing is heard is asked: nobody waits behind what is missing, and by default it keeps
    /// samples this long.
    private static let silenceLimit = Duration.seconds(600)

    private let connect: @Sendable (_ endpoint: String) throws -> RequestClient
    private let routes = Routes()

    private final class Routes: Sendable {
        let known = Mutex(ReplayRoutes())
    }

    /// Asks over sockets that a closure opens.
    package init(connectingBy connect: @escaping @Sendable (_ endpoint: String) throws -> RequestClient) {
        self.connect = connect
    }

    /// Notes where a publisher is heard from, to ask it there where it does not answer at the endpoint that it announces.
    package func note(_ announced: String, heardFrom address: String) {
        routes.known.withLock { $0.note(announced, heardFrom: address) }
    }

    private func places(of announced: String) -> Set<String> { routes.known.withLock { $0.places(of: announced) } }

    private func endpoint(for announced: String) -> String { routes.known.withLock { $0.endpoint(for: announced) } }

    private func noteSilence(of announced: String, at endpoint: String) -> Bool {
        routes.known.withLock { $0.noteSilence(of: announced, at: endpoint) }
    }

    /// Asks a publisher, at the other place too where it does not answer at the first.
    /// - Parameter announced: the endpoint that a stream's description names.
    /// - Throws: what the body throws.
    package func ask<Answer>(
        _ announced: String, _ body: (RequestClient) async throws -> Answer
    ) async throws -> Answer {
        let first = endpoint(for: announced)
        do {
            return try await body(connect(first))
        } catch let error as ZeroMQError {
            guard noteSilence(of: announced, at: first) else { throw error }
        }
        let second = endpoint(for: announced)
        do {
            return try await body(connect(second))
        } catch let error as ZeroMQError {
            _ = noteSilence(of: announced, at: second)
            throw error
        }
    }

    /// Asks for a stream's missing samples until none is missing.
    /// - Parameter limit: how long a publisher that does not answer, or can't, but is heard, is asked for the same; what it has
    ///   not said by then is given up.
    package func recover(_ stream: some RecoveringStream, limit: Duration) async throws {
        var deadline = MonotonicClock.now + limit.inNanoseconds
        var lastDeadline = MonotonicClock.now + Self.silenceLimit.inNanoseconds
        var refusals = ReplayRefusals()
        func settled() {
            deadline = MonotonicClock.now + limit.inNanoseconds
            lastDeadline = MonotonicClock.now + Self.silenceLimit.inNanoseconds
            refusals = ReplayRefusals()
        }
        var client: RequestClient?
        var lastRequest: SamplesReplay?
        while let missing = await stream.missing() {
            let request = missing.request
            if request != lastRequest { refusals = ReplayRefusals() }
            lastRequest = request
            var refusal: RequestError?
            let endpoint = endpoint(for: missing.endpoint)
            do {
                if client?.endpoint != endpoint { client = nil }
                let publisher = try client ?? connect(endpoint)
                client = publisher
                let left = Duration.nanoseconds(max(1_000_000, deadline - MonotonicClock.now))
                let (reply, frames) = try await publisher.sendForFrames(
                    request, timeout: min(Self.replayTimeout, left))
                await stream.take(reply, frames, for: request)
                settled()
                continue
            } catch let error as RequestError {
                refusal = error
            } catch is MessageError {
                await stream.giveUp(request, reason: .malformed)
                continue
            } catch is ZeroMQError {
            }
            refusals.note(refusal, at: endpoint, of: missing.endpoint)
            if let reason = refusals.verdict(asking: places(of: missing.endpoint)) {
                await stream.giveUp(request, reason: reason)
                settled()
                continue
            }
            _ = noteSilence(of: missing.endpoint, at: endpoint)
            if await !stream.isHeard() { deadline = MonotonicClock.now + limit.inNanoseconds }
            if MonotonicClock.now >= min(deadline, lastDeadline) {
                await stream.giveUp(request, reason: .publisherUnreachable)
                // What is missing next gets its own time.
                settled()
            } else {
                try await Task.sleep(for: Self.retryPause)
            }
        }
    }
}
