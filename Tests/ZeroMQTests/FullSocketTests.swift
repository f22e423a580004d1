import Synchronization
import Testing

@testable import ZeroMQ

/// The peers that are served while a guard considers a socket full.
@Suite(.timeLimit(.minutes(1)))
struct FullSocketTests {
    @Test func newcomersWaitWhileTheSocketIsFullAndOthersAreServed() async throws {
        let doorkeeper = Doorkeeper()
        let context = try Context(guarding: { _ in doorkeeper })
        let thread = try SocketThread(name: "test")
        var options = SocketOptions()
        options.handshakeLimit = .milliseconds(200)
        options.security = .plain(screenedBy: try Authenticator(context: context, thread: thread))
        let replier = try Replier(context: context, thread: thread, options: options)
        let endpoint = try await replier.bind(to: "tcp://127.0.0.1:*")
        let resident = try Requester(context: Context(), thread: thread, endpoint: endpoint)
        try await expectAnswer(to: resident, from: replier)

        await doorkeeper.find(isFull: true)
        let newcomer = try Requester(context: Context(), thread: thread, endpoint: endpoint)
        async let answer = newcomer.request([[7]], timeout: .seconds(40))
        let deadline = MonotonicClock.now + 30_000_000_000
        while replier.connectionEvents.failedHandshakes == 0, MonotonicClock.now < deadline { await Task.yield() }
        #expect(replier.connectionEvents.handshakes == 1)
        try await expectAnswer(to: resident, from: replier)

        await doorkeeper.find(isFull: false)
        let request = try await replier.next()
        #expect(request.frames == [[7]] && request.user == nil)
        try await replier.reply(to: request, with: [[8]])
        #expect(try await answer == [[8]])
    }

    private func expectAnswer(to requester: Requester, from replier: Replier) async throws {
        async let answer = requester.request([[1]], timeout: .seconds(20))
        let request = try await replier.next()
        #expect(request.frames == [[1]])
        try await replier.reply(to: request, with: [[2]])
        #expect(try await answer == [[2]])
    }
}

/// A guard that checks every millisecond and refuses new connections when a test says so.
private final class Doorkeeper: ConnectionGuard, Sendable {
    private let isTold = Atomic(false)
    private let looks = Atomic<Int>(0)
    private let lastLook = Atomic<Int64>(0)

    /// Returns once the socket has received the new state.
    func find(isFull: Bool) async {
        isTold.store(isFull, ordering: .relaxed)
        let before = looks.load(ordering: .relaxed)
        while looks.load(ordering: .relaxed) < before + 2 { await Task.yield() }
    }

    var isFull: Bool { isTold.load(ordering: .relaxed) }
    var nextLook: Int64? { lastLook.load(ordering: .relaxed) + 1_000_000 }
    func take(_ event: ConnectionEvent, at now: Int64) {}
    func look(at now: Int64, traffic: () async -> SocketTraffic) async {
        lastLook.store(now, ordering: .relaxed)
        looks.add(1, ordering: .relaxed)
    }
}
