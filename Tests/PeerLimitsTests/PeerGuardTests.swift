import Testing
import ZeroMQ

@testable import PeerLimits

/// Real peers that cost too much: libzmq's own, over TCP. The limits themselves are tested without sockets, in
/// `ConnectionTableTests`.
@Suite(.timeLimit(.minutes(1)))
struct PeerGuardTests {
    private let incidents = ConnectionIncidents()
    private let context: Context
    private let thread: SocketThread

    init() throws {
        context = try Context(guarding: { [incidents] in PeerGuard(of: $0, noting: incidents) })
        thread = try SocketThread(name: "test")
    }

    @Test func aPeerThatSubscribesWithoutEndIsCutAndOthersAreNot() async throws {
        let publisher = try Publisher(context: context, thread: thread)
        let endpoint = try publisher.bind(to: "tcp://127.0.0.1:*")
        let honest = try Subscriber(context: Context(), thread: thread)
        try await honest.connect(to: endpoint)
        try await eventually { publisher.connectionEvents.handshakes == 1 }
        let greedy = try Subscriber(context: Context(), thread: thread)
        for number in 0..<8_000 {
            try await greedy.subscribe(to: String(repeating: "a", count: 60) + "\(number)")
        }
        try await greedy.connect(to: endpoint)
        try await eventually {
            // libzmq processes subscriptions while it publishes.
            try publisher.publish([[0]])
            // A socket that nobody reads does not subscribe again after its connection was closed.
            _ = try await greedy.next(deadline: MonotonicClock.now)
            return incidents.total { $0 == .tooManySubscriptions } >= 2
        }
        #expect(honest.connectionEvents.disconnected == 0)
        // Others are accepted afterwards.
        try await greedy.disconnect(from: endpoint)
        let newcomer = try Subscriber(context: Context(), thread: thread)
        try await newcomer.connect(to: endpoint)
        try await eventually { newcomer.connectionEvents.handshakes >= 1 }
    }

    @Test func aPeerThatLeavesRepliesUnreadIsCut() async throws {
        let replier = try Replier(context: context, thread: thread)
        let endpoint = try await replier.bind(to: "tcp://127.0.0.1:*")
        let dealer = Dealer(context: try Context(), thread: thread)
        var options = SocketOptions()
        options.receiveHighWaterMark = 1
        options.receiveBuffer = 1 << 16
        try await dealer.connect(to: endpoint, options: options)
        let reply = [UInt8](repeating: 0, count: 4 << 20)
        for _ in 0..<20 { #expect(try await dealer.send([0])) }
        // Its unanswered requests are dropped with its connection.
        let replies = Task { for _ in 0..<20 { try await replier.reply(to: replier.next(), with: [reply]) } }
        defer { replies.cancel() }
        try await eventually { incidents.total { $0 == .unreadReplies } == 1 }
    }

    @Test func morePeersThanAreAllowedAreCut() async throws {
        var options = SocketOptions.replying
        options.maximumConnections = 3
        let replier = try Replier(context: context, thread: thread, options: options)
        let endpoint = try await replier.bind(to: "tcp://127.0.0.1:*")
        var peers: [Requester] = []
        for number in 0..<3 {
            peers.append(try Requester(context: Context(), thread: thread, endpoint: endpoint))
            try await eventually { replier.connectionEvents.handshakes > number }
        }
        peers.append(try Requester(context: Context(), thread: thread, endpoint: endpoint))
        try await eventually { incidents.total { $0 == .tooManyConnections } > 0 }
        // The peers that came first are served.
        for peer in peers.dropLast() {
            async let answer = peer.request([[7]], timeout: .seconds(20))
            let request = try await replier.next()
            try await replier.reply(to: request, with: [[8]])
            #expect(try await answer == [[8]])
        }
    }

    @Test func aReaderThatIsBehindLosesNoConnection() async throws {
        let publisher = try Publisher(context: Context(), thread: thread)
        let endpoint = try publisher.bind(to: "tcp://127.0.0.1:*")
        let subscriber = try Subscriber(context: context, thread: thread)
        try await subscriber.subscribe(to: "")
        try await subscriber.connect(to: endpoint)
        try await eventually {
            try publisher.publish([[0]])
            return try await !subscriber.next(deadline: MonotonicClock.now + 1_000_000).isEmpty
        }
        // A little less than the limit: messages above the high-water mark are dropped.
        let event = [UInt8](repeating: 1, count: 40_000)
        for _ in 0..<900 { try publisher.publish([event]) }
        var count = 0
        while count < 900 {
            let batch = try await subscriber.next(limit: 10)
            count += (0..<batch.count).count { batch[$0][0] == event }
        }
        #expect(subscriber.connectionEvents.disconnected == 0)
        #expect(incidents.total { _ in true } == 0)
    }

    /// Polls until a condition holds; the suite's time limit ends it.
    private func eventually(_ condition: () async throws -> Bool) async throws {
        while try await !condition() { try await Task.sleep(for: .milliseconds(2)) }
    }
}
