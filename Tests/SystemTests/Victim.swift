import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// A program that is attacked, and an honest peer that speaks with it meanwhile.
struct Victim: Sendable {
    /// How much more memory an attack may take: on a machine that does nothing else it takes 77 MiB at most, and where a
    /// thread waits for its turn, nobody can be cut in time. Where it waits long, it is three times as much, half of what
    /// an attack takes that nobody cuts.
    static let memoryLimit = 160 << 20
    private static let longStall = Duration.milliseconds(10)
    /// The pause between two honest requests.
    private static let pause = Duration.milliseconds(10)
    /// How soon everything must be as before, and where a thread waits long for its turn.
    private static let recovery = (usual: Duration.seconds(5), stalled: Duration.seconds(15))
    /// How long an honest request may take while the program is attacked, on a busy machine.
    private static let limitDuring = Duration.seconds(20)

    let program: ProgramUnderTest
    let ready: ProgramReady
    let context: Context
    let thread: SocketThread
    private let client: RequestClient
    private let bystander: RequestClient
    private let options: SocketOptions
    private let process: Int32

    /// A program that runs.
    /// - Parameters:
    ///   - bystander: where another program answers, which nobody attacks: how fast the machine lets it.
    ///   - security: what honest peers show.
    init(
        _ program: ProgramUnderTest, beside bystander: String, context: Context, thread: SocketThread,
        security: SocketSecurity = .plain
    ) async throws {
        var options = SocketOptions()
        options.security = security
        self.options = options
        self.program = program
        self.context = context
        self.thread = thread
        ready = try await program.ready()
        client = try RequestClient(context: context, thread: thread, endpoint: ready.reply, options: options)
        self.bystander = try RequestClient(context: context, thread: thread, endpoint: bystander)
        process = try #require(program.processIdentifier)
    }

    /// What it measures of itself.
    func measures() async throws -> [String: Double] {
        try await client.send(ServiceHealth(), timeout: Self.limitDuring).measures ?? [:]
    }

    /// Attacks it, and checks that it lives, takes little memory, and serves an honest peer: meanwhile, and soon
    /// afterwards as before.
    /// - Parameters:
    ///   - newcomers: whether one who connects meanwhile must be served too.
    ///   - memoryLimit: how much more memory it may take.
    ///   - attack: goes on as long as it likes.
    func endure(
        _ what: String, newcomers: Bool = true, memoryLimit: Int = Victim.memoryLimit,
        _ attack: @escaping @Sendable () async throws -> Void
    ) async throws {
        let before = try await latency(of: client)
        try resetPeak()
        let memory = try memory("VmRSS")
        // How long a thread had to wait for its turn.
        let stall = try await withThrowingTaskGroup(of: Duration?.self) { tasks in
            tasks.addTask {
                try await attack()
                return nil
            }
            var stall = Duration.zero
            while true {
                tasks.addTask {
                    do {
                        _ = try await self.client.send(ServiceClock(), timeout: Self.limitDuring)
                    } catch is ZeroMQError {
                        throw TestFailure("\(what): an honest peer was not answered")
                    }
                    do {
                        if newcomers { _ = try await self.newClient().send(ServiceClock(), timeout: Self.limitDuring) }
                    } catch is ZeroMQError {
                        throw TestFailure("\(what): an honest newcomer was not answered")
                    }
                    let start = ContinuousClock.now
                    try await Task.sleep(for: Self.pause)
                    return ContinuousClock.now - start - Self.pause
                }
                guard let late = try await tasks.next(), let late else { return stall }
                stall = max(stall, late)
            }
        }
        async let usual = firstAnswer(at: bystander.endpoint, options: SocketOptions())
        let answer = try await firstAnswer(at: ready.reply, options: options)
        // A busy machine lets nobody answer in time.
        let isStalled = stall >= Self.longStall
        let limit = try await max(isStalled ? Self.recovery.stalled : Self.recovery.usual, usual * 10)
        #expect(answer < limit, "\(what): a newcomer is answered in \(answer) afterwards")
        try await eventually("\(what): answers as fast as before, in \(before)", within: limit - answer) {
            async let usual = latency(of: bystander)
            return try await latency(of: client) < max(before, usual) * 10 + .milliseconds(50)
        }
        let more = try self.memory("VmHWM") - memory
        #expect(
            more < (isStalled ? 3 : 1) * memoryLimit,
            "\(what) took \(more >> 20) MiB, and the machine stood still for \(stall)")
        #expect(program.processIdentifier != nil, "\(what)")
    }

    /// How long one who connects waits for an answer.
    private func firstAnswer(at endpoint: String, options: SocketOptions) async throws -> Duration {
        let start = ContinuousClock.now
        let client = try RequestClient(context: context, thread: thread, endpoint: endpoint, options: options)
        _ = try await client.send(ServiceClock(), timeout: Self.limitDuring)
        return .now - start
    }

    private func newClient() throws -> RequestClient {
        try RequestClient(context: context, thread: thread, endpoint: ready.reply, options: options)
    }

    /// The median of a few round trips.
    private func latency(of client: RequestClient) async throws -> Duration {
        var times: [Duration] = []
        for _ in 0..<7 {
            let start = ContinuousClock.now
            _ = try await client.send(ServiceClock(), timeout: Self.limitDuring)
            times.append(.now - start)
        }
        return times.sorted()[3]
    }

    /// One of the sizes in proc(5)'s status, in bytes.
    private func memory(_ name: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(name + ":") })
        let number = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
        return try #require(number.flatMap { Int($0) }) << 10
    }

    /// Has the kernel begin anew to note the most memory that the process takes.
    private func resetPeak() throws {
        try Data("5".utf8).write(to: URL(filePath: "/proc/\(process)/clear_refs"))
    }
}
