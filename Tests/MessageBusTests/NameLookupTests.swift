import Glibc
import MessageBus
import Messages
import Synchronization
import Testing
import ZeroMQ

@Suite(.timeLimit(.minutes(5)))
struct NameLookupTests {
    /// A resolver in memory, which may hang.
    private final class Names: Sendable {
        struct State {
            var addresses: [String: [String]] = [:]
            var hanging: Set<String> = []
            var questions = 0
        }

        let state = Mutex(State())

        func set(_ addresses: [String], of name: String) { state.withLock { $0.addresses[name] = addresses } }

        func resolve(_ name: String) -> HostAddresses {
            state.withLock { $0.questions += 1 }
            // This blocks the resolver's own thread.
            while state.withLock({ $0.hanging.contains(name) }) { usleep(1_000) }
            return state.withLock { $0.addresses[name].map(HostAddresses.found) ?? .notFound("unknown") }
        }
    }

    private func reply(of client: RequestClient) async throws -> String {
        try await client.send(ServiceHealth(), timeout: .seconds(50)).version
    }

    /// A program that answers with its name.
    private func server(_ name: String, at endpoint: String, context: Context, thread: SocketThread) async throws
        -> ReplyServer
    {
        var router = RequestRouter()
        router.on(ServiceHealth.self) { _ in ServiceHealth.Reply(status: .ok, reasons: [], uptime: 0, version: name) }
        return try await ReplyServer(listeningOn: endpoint, router: router, context: context, thread: thread)
    }

    @Test func theSystemsResolverKnowsThisMachine() {
        #expect(HostAddresses.lookUp("localhost") == .found(["127.0.0.1"]))
        #expect(HostAddresses.lookUp("127.0.0.7") == .found(["127.0.0.7"]))
        #expect(HostAddresses.lookUp("::1") == .found(["[::1]"]))
        // Not a valid name, so that no name server is asked.
        guard case .notFound(let reason) = HostAddresses.lookUp("a..b") else {
            Issue.record("it has an address")
            return
        }
        #expect(!reason.isEmpty)
    }

    @Test func aNameThatHangsKeepsNoOtherWaitingAndIsAskedOnce() async throws {
        let names = Names()
        names.set(["10.0.0.1"], of: "quick")
        names.state.withLock { $0.hanging = ["slow"] }
        defer { names.state.withLock { $0.hanging = [] } }
        let lookup = NameLookup(resolver: names.resolve)
        for _ in 0..<100 { lookup.begin("slow") }
        lookup.begin("quick")
        try await lookup.next(after: nil, of: "quick", until: .max)
        let answer = lookup.answer(of: "quick")
        #expect(answer?.addresses == .found(["10.0.0.1"]))
        lookup.begin("quick")
        try await lookup.next(after: answer, of: "quick", until: .max)
        #expect(lookup.answer(of: "quick") != answer)
        #expect(lookup.answer(of: "slow") == nil)
        try await lookup.next(after: nil, of: "slow", until: MonotonicClock.now + 1_000_000)
        let waiting = Task { try await lookup.next(after: nil, of: "slow", until: .max) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(lookup.answer(of: "slow") == nil)
        names.state.withLock { $0.hanging = [] }
        try await lookup.next(after: nil, of: "slow", until: .max)
        #expect(lookup.answer(of: "slow")?.addresses == .notFound("unknown"))
        #expect(names.state.withLock { $0.questions } == 3)
    }

    @Test func whatHangsIsBounded() {
        let names = Names()
        names.state.withLock { $0.hanging = Set((0..<500).map { "host\($0)" }) }
        defer { names.state.withLock { $0.hanging = [] } }
        let lookup = NameLookup(resolver: names.resolve)
        for index in 0..<500 { lookup.begin("host\(index)") }
        #expect(names.state.withLock { $0.questions } <= 64)
    }

    /// For example, a container restarts with another address.
    @Test func aRequestGoesToTheAddressThatTheNameHasNow() async throws {
        let context = try Context()
        let thread = try SocketThread(name: "test")
        let first = try await server("first", at: "tcp://127.0.0.1:*", context: context, thread: thread)
        let port = first.endpoint.split(separator: ":").last.map(String.init) ?? ""
        let second = try await server("second", at: "tcp://127.0.0.2:\(port)", context: context, thread: thread)
        let names = Names()
        names.set(["127.0.0.1"], of: "log-manager")
        let client = try RequestClient(
            context: context, thread: thread, endpoint: "tcp://log-manager:\(port)",
            names: NameLookup(resolver: names.resolve))
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await second.run() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { group.cancelAll() }
                group.addTask { try await first.run() }
                let name = try await reply(of: client)
                #expect(name == "first")
            }
            // Nothing answers there any more. The client repeats the request, and looks the name up again first.
            names.set(["127.0.0.2"], of: "log-manager")
            let name = try await reply(of: client)
            #expect(name == "second")
        }
    }

    @Test(arguments: [["127.0.0.9", "127.0.0.1"], ["127.0.0.9", "127.0.0.8", "127.0.0.1"]])
    func addressesThatDoNotAnswerArePassedOver(addresses: [String]) async throws {
        let context = try Context()
        let thread = try SocketThread(name: "test")
        let server = try await server("there", at: "tcp://127.0.0.1:*", context: context, thread: thread)
        let port = server.endpoint.split(separator: ":").last.map(String.init) ?? ""
        let names = Names()
        names.set(addresses, of: "log-manager")
        let client = try RequestClient(
            context: context, thread: thread, endpoint: "tcp://log-manager:\(port)",
            names: NameLookup(resolver: names.resolve))
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await server.run() }
            // An address without a connection is left after three seconds; a busy machine needs several turns.
            let name = try await client.send(ServiceHealth(), timeout: .seconds(60)).version
            #expect(name == "there")
        }
    }

    @Test func aNameThatNobodyKnowsIsWaitedForAsLongAsTheRequestMayTake() async throws {
        let names = Names()
        let client = try RequestClient(
            context: Context(), thread: SocketThread(name: "test"), endpoint: "tcp://nobody:5581",
            names: NameLookup(resolver: names.resolve))
        let error = await #expect(throws: ZeroMQError.self) {
            try await client.send(ServiceHealth(), timeout: .milliseconds(50))
        }
        #expect(error?.code == .timedOut)
        #expect(error?.description.contains("unknown") == true, "\(error?.description ?? "")")
    }
}
