import MessageBus
import Messages
import Synchronization
import ZeroMQ

/// A publisher that keeps samples of any stream, and answers as a test demands.
final class KeepingPublisher: Sendable {
    struct State {
        var asked = 0
        var underWay = 0
        /// The most requests in progress at the same time.
        var mostUnderWay = 0
        /// Runs before each request, and may throw in its place.
        var onRequest: (@Sendable (_ count: Int, SamplesReplay) async throws -> Void)?
        /// Refuses ranges.
        var onRange: (@Sendable (SamplesReplay.Range) throws(RequestError) -> Void)?
        /// Changes a reply before it is sent.
        var onReply: (@Sendable (inout SamplesReplay.Reply, inout [[UInt8]]) -> Void)?
    }

    let endpoint: String
    private let server: ReplyServer
    private let shared: SharedState

    /// - Parameters:
    ///   - kept: the samples kept of each stream.
    ///   - replySize: the most samples in a reply.
    init(
        on endpoint: String = "tcp://127.0.0.1:*", context: Context, thread: SocketThread,
        kept: Range<Int> = 0..<100_000,
        replySize: Int = 10_000, knowsRanges: Bool = true
    ) async throws {
        let state = SharedState()
        var router = RequestRouter()
        router.onWithFrames(SamplesReplay.self) { request in
            let (count, onRequest) = state.value.withLock { state in
                state.asked += 1
                state.underWay += 1
                state.mostUnderWay = max(state.mostUnderWay, state.underWay)
                return (state.asked, state.onRequest)
            }
            defer { state.value.withLock { $0.underWay -= 1 } }
            try await onRequest?(count, request)
            var (reply, frames) = try Self.answer(
                request, kept: kept, replySize: replySize, knowsRanges: knowsRanges,
                refusing: state.value.withLock { $0.onRange })
            state.value.withLock { $0.onReply }?(&reply, &frames)
            return (reply, frames)
        }
        server = try await ReplyServer(listeningOn: endpoint, router: router, context: context, thread: thread)
        self.endpoint = server.endpoint
        shared = state
    }

    private final class SharedState: Sendable {
        let value = Mutex(State())
    }

    var asked: Int { shared.value.withLock { $0.asked } }
    var mostUnderWay: Int { shared.value.withLock { $0.mostUnderWay } }
    var connections: Int { server.connectionEvents.accepted }

    func set(_ change: (inout State) -> Void) { shared.value.withLock { change(&$0) } }

    func run() async throws { try await server.run() }

    func whileRunning<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) async throws -> Result {
        try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask {
                try await self.run()
                return nil
            }
            group.addTask { try await body() }
            defer { group.cancelAll() }
            while let result = try await group.next() { if let result { return result } }
            throw CancellationError()
        }
    }

    static func answer(
        _ request: SamplesReplay, kept: Range<Int>, replySize: Int, knowsRanges: Bool,
        refusing: (@Sendable (SamplesReplay.Range) throws(RequestError) -> Void)? = nil
    ) throws -> (SamplesReplay.Reply, [[UInt8]]) {
        guard knowsRanges, let ranges = request.ranges else {
            let range = SamplesReplay.Range(request)
            try refusing?(range)
            return answer(range, kept: kept, replySize: replySize)
        }
        var parts: [SamplesReplay.Reply.Part] = []
        var frames: [[UInt8]] = []
        for range in ranges {
            do throws(RequestError) {
                try refusing?(range)
                let (reply, more) = answer(range, kept: kept, replySize: replySize / ranges.count)
                parts.append(.init(reply, frames: more.count))
                frames += more
            } catch {
                parts.append(.init(error, from: range.from))
            }
        }
        return (.init(parts), frames)
    }

    private static func answer(
        _ range: SamplesReplay.Range, kept: Range<Int>, replySize: Int
    ) -> (SamplesReplay.Reply, [[UInt8]]) {
        let found = kept.clamped(to: range.from..<range.from + range.count).prefix(replySize)
        return (
            .init(
                from: found.isEmpty ? range.from : found.startIndex, count: found.count, first: kept.lowerBound,
                last: kept.upperBound - 1),
            stride(from: found.startIndex, to: found.endIndex, by: batch).map { first in
                frame(of: range.device, first, min(batch, found.endIndex - first))
            }
        )
    }

    /// Samples in a frame.
    private static let batch = 10

    /// As long as a packed batch of ten samples with four columns, with its body.
    private static func frame(of device: String, _ first: Int, _ count: Int) -> [UInt8] {
        let head = Array("\(device):\(first):\(count):".utf8)
        return head + [UInt8](repeating: UInt8(ascii: " "), count: 600 - head.count)
    }
}
