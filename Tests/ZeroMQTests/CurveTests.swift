import Synchronization
import Testing
import ZeroMQ

/// CURVE between sockets, and the peers that are admitted.
@Suite(.timeLimit(.minutes(1)))
struct CurveTests {
    private let context: Context
    private let thread: SocketThread
    private let server: CurveKeyPair
    private let client: CurveKeyPair

    init() throws {
        context = try Context()
        thread = try SocketThread(name: "test")
        server = try .generate()
        client = try .generate()
    }

    @Test func aPairIsKnownByItsSecretKey() throws {
        #expect(try CurveKeyPair(secretKey: client.secretKey) == client)
        #expect(client.publicKey != server.publicKey)
        #expect(CurveKey(client.publicKey.text) == client.publicKey)
        #expect(!"\(client)".contains(client.secretKey.text))
    }

    @Test(arguments: [
        "", "short", String(repeating: "a", count: 41), String(repeating: "ä", count: 20),
        String(repeating: "~", count: 40), String(repeating: "\0", count: 40), String(repeating: "#", count: 40),
    ])
    func whatIsNoKeyIsRefused(text: String) { #expect(CurveKey(text) == nil) }

    @Test(arguments: ["tcp://127.0.0.1:*", "ipc://*"])
    func aClientOnTheListIsServedAndNamed(endpoint: String) async throws {
        let (replier, endpoint) = try await replier(at: endpoint, admitting: [client.publicKey])
        let requester = try Requester(context: Context(), thread: thread, endpoint: endpoint, options: options())
        async let reply = requester.request([utf8("ping")], timeout: .seconds(20))
        let request = try await replier.next()
        #expect(request.user == client.publicKey.text)
        #expect(request.frames == [utf8("ping")])
        try await replier.reply(to: request, with: [utf8("pong")])
        #expect(try await reply == [utf8("pong")])
    }

    @Test func aPublisherSpeaksToClientsOnTheListAlone() async throws {
        let authenticator = try Authenticator(context: context, thread: thread) { [client] in
            $0.client == client.publicKey && $0.address == "127.0.0.1"
        }
        var options = SocketOptions.publishing
        options.security = .server(server, authenticator)
        let publisher = try Publisher(context: context, thread: thread, options: options)
        let endpoint = try publisher.bind(to: "tcp://127.0.0.1:*")
        let known = try await subscriber(at: endpoint, self.options())
        let stranger = try await subscriber(at: endpoint, self.options(.generate()))
        let naked = try await subscriber(at: endpoint, SocketOptions())
        // Messages to the others would have arrived before the last of these.
        for _ in 0..<3 { try await publishUntilHeard(publisher, by: known) }
        #expect(stranger.connectionEvents.handshakes == 0)
        #expect(naked.connectionEvents.handshakes == 0)
        for deaf in [stranger, naked] {
            #expect(try await deaf.next(deadline: MonotonicClock.now + 50_000_000).isEmpty)
        }
    }

    @Test func aClientSpeaksWithNobodyButTheHolderOfTheServersKey() async throws {
        let (_, endpoint) = try await replier(at: "tcp://127.0.0.1:*", admitting: [client.publicKey])
        var options = SocketOptions()
        options.security = .client(client, server: try CurveKeyPair.generate().publicKey)
        let requester = try Requester(context: context, thread: thread, endpoint: endpoint, options: options)
        let error = await #expect(throws: ZeroMQError.self) {
            _ = try await requester.request([utf8("secret")], timeout: .milliseconds(500))
        }
        #expect(error?.code == .timedOut)
    }

    @Test func aListThatChangesCountsFromTheNextHandshakeOn() async throws {
        let admitted = Admitted()
        let authenticator = try Authenticator(context: context, thread: thread) { admitted.contains($0.client) }
        var options = SocketOptions()
        options.security = .server(server, authenticator)
        let replier = try Replier(context: context, thread: thread, options: options)
        let endpoint = try await replier.bind(to: "tcp://127.0.0.1:*")
        let requester = try Requester(context: context, thread: thread, endpoint: endpoint, options: self.options())
        await #expect(throws: ZeroMQError.self) {
            _ = try await requester.request([utf8("early")], timeout: .milliseconds(500))
        }
        admitted.add(client.publicKey)
        async let reply = requester.request([utf8("late")], timeout: .seconds(20))
        // The request that the requester gave up still waits in its socket and comes first.
        var request = try await replier.next()
        while request.frames != [utf8("late")] { request = try await replier.next() }
        try await replier.reply(to: request, with: [utf8("welcome")])
        #expect(try await reply == [utf8("welcome")])
    }

    @Test func whatStaysInTheProcessIsNotEncrypted() async throws {
        let (replier, endpoint) = try await replier(at: "inproc://plain", admitting: [])
        let requester = try Requester(context: context, thread: thread, endpoint: endpoint)
        async let reply = requester.request([utf8("ping")], timeout: .seconds(20))
        let request = try await replier.next()
        #expect(request.user == nil)
        try await replier.reply(to: request, with: [utf8("pong")])
        #expect(try await reply == [utf8("pong")])
    }

    @Test func aContextEndsThatHadAnAuthenticator() async throws {
        let end: AwaitedEnd
        do {
            let context = try Context()
            end = context.end
            let authenticator = try Authenticator(context: context, thread: thread) { _ in true }
            var options = SocketOptions.publishing
            options.security = .server(server, authenticator)
            let publisher = try Publisher(context: context, options: options)
            _ = try publisher.bind(to: "tcp://127.0.0.1:*")
        }
        let start = MonotonicClock.now
        await end.wait(atMost: .seconds(30))
        #expect(MonotonicClock.now - start < 20_000_000_000)
    }

    /// libzmq sends none of these, but code in the process might.
    @Test(arguments: Self.malformed)
    func aMalformedQuestionIsAnsweredWithAnError(frames: [String]) async throws {
        let authenticator = try Authenticator(context: context, thread: thread) { _ in true }
        let asker = try Requester(context: context, thread: thread, endpoint: "inproc://zeromq.zap.01")
        let reply = try await asker.request(frames.map(utf8), timeout: .seconds(20))
        #expect(reply.count == 6)
        #expect(reply[0] == utf8("1.0"))
        #expect(reply[2] == utf8("500"))
        #expect(reply[4] == [])
        withExtendedLifetime(authenticator) {}
    }

    private static let key = String(repeating: "k", count: 32)
    private static let malformed = [
        [""], ["1.0"], ["1.0", "1"], ["1.0", "1", "holdfast-1", "127.0.0.1", "", "CURVE"],
        ["2.0", "1", "holdfast-1", "127.0.0.1", "", "CURVE", key],
        ["1.0", "1", "other", "127.0.0.1", "", "CURVE", key],
        ["1.0", "1", "holdfast-1", "127.0.0.1", "", "NULL", "more"],
        ["1.0", "1", "holdfast-", "127.0.0.1", "", "NULL"],
        ["1.0", "1", "holdfast-1", "127.0.0.1", "", "PLAIN", "admin", "password"],
        ["1.0", "1", "holdfast-1", "127.0.0.1", "", "CURVE", "short"],
        ["1.0", "1", "holdfast-1", "127.0.0.1", "", "CURVE", key, "more"],
        ["1.0", "1", "holdfast-1", String(repeating: "1", count: 1_000), "", "CURVE", key],
    ]

    @Test func aWellFormedQuestionIsAnsweredWithTheKey() async throws {
        let authenticator = try Authenticator(context: context, thread: thread) { $0.address == "127.0.0.1" }
        let asker = try Requester(context: context, thread: thread, endpoint: "inproc://zeromq.zap.01")
        let reply = try await asker.request(
            ["1.0", "7", "holdfast-7", "127.0.0.1", "", "CURVE", Self.key].map(utf8), timeout: .seconds(20))
        #expect(reply[..<3] == [utf8("1.0"), utf8("7"), utf8("200")])
        #expect(CurveKey(String(decoding: reply[4], as: UTF8.self)) != nil)
        withExtendedLifetime(authenticator) {}
    }

    private func options(_ keys: CurveKeyPair? = nil) -> SocketOptions {
        var options = SocketOptions()
        options.security = .client(keys ?? client, server: server.publicKey)
        return options
    }

    private func replier(at endpoint: String, admitting keys: Set<CurveKey>) async throws -> (Replier, String) {
        let authenticator = try Authenticator(context: context, thread: thread) { keys.contains($0.client) }
        var options = SocketOptions()
        options.security = .server(server, authenticator)
        let replier = try Replier(context: context, thread: thread, options: options)
        return (replier, try await replier.bind(to: endpoint))
    }

    private func publishUntilHeard(_ publisher: Publisher, by subscriber: Subscriber) async throws {
        let deadline = MonotonicClock.now + 30_000_000_000
        while MonotonicClock.now < deadline {
            try publisher.publish([utf8("hello")])
            if try await !subscriber.next(deadline: MonotonicClock.now + 20_000_000).isEmpty { return }
        }
        Issue.record("nothing was heard")
    }

    private func subscriber(at endpoint: String, _ options: SocketOptions) async throws -> Subscriber {
        let subscriber = try Subscriber(context: context, thread: thread, options: options)
        try await subscriber.subscribe(to: "")
        try await subscriber.connect(to: endpoint)
        return subscriber
    }
}

/// The currently admitted keys.
private final class Admitted: Sendable {
    private let keys = Mutex<Set<CurveKey>>([])

    func add(_ key: CurveKey) { keys.withLock { _ = $0.insert(key) } }

    func contains(_ key: CurveKey) -> Bool { keys.withLock { $0.contains(key) } }
}
