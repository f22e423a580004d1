import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// A program that is attacked, and an honest peer that speaks with it meanwhile.
struct Victim: Sendable {
    /// What an attack may cost: how much more memory, and how long until everything is as before. A machine that lets
    /// nobody have his turn for long lets nobody be cut in time, so the least of a few attacks counts.
    private static let limit = Cost(memory: 100 << 20, recovery: .seconds(2))
    private static let attempts = 3
    /// What no attack may cost on any machine.
    private static let hardLimit = Cost(memory: 300 << 20, recovery: .seconds(20))
    /// The pause between two honest requests.
    private static let pause = Duration.milliseconds(10)
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
    ///   - attack: goes on as long as it likes.
    func endure(
        _ what: String, newcomers: Bool = true, _ attack: @escaping @Sendable () async throws -> Void
    ) async throws {
        let before = try await latency(of: client)
        let memory = try memory("VmRSS")
        var costs: [Cost] = []
        while costs.count < Self.attempts, !costs.contains(where: { $0 < Self.limit }) {
            try resetPeak()
            try await serve(what, newcomers: newcomers, during: attack)
            let recovery = try await recovery(from: what, to: before)
            costs.append(Cost(memory: try self.memory("VmHWM") - memory, recovery: recovery))
        }
        #expect(costs.allSatisfy { $0 < Self.hardLimit }, "\(what): \(costs)")
        #expect(costs.contains { $0 < Self.limit }, "\(what): \(costs)")
        #expect(program.processIdentifier != nil, "\(what)")
    }

    /// Attacks it, and has honest peers answered meanwhile.
    private func serve(
        _ what: String, newcomers: Bool, during attack: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Bool.self) { tasks in
            tasks.addTask {
                try await attack()
                return true
            }
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
                    try await Task.sleep(for: Self.pause)
                    return false
                }
                if try await tasks.next() != false { return }
            }
        }
    }

    /// How long it takes until a newcomer is answered, and everybody as fast as before.
    private func recovery(from what: String, to before: Duration) async throws -> Duration {
        let start = ContinuousClock.now
        _ = try await newClient().send(ServiceClock(), timeout: Self.limitDuring)
        try await eventually("\(what): answers as fast as before, in \(before)", within: Self.hardLimit.recovery) {
            async let usual = latency(of: bystander)
            return try await latency(of: client) < max(before, usual) * 10 + .milliseconds(50)
        }
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

    /// What an attack costs.
    private struct Cost: CustomStringConvertible {
        /// Bytes.
        let memory: Int
        let recovery: Duration

        var description: String { "\(memory >> 20) MiB, as before after \(recovery)" }

        static func < (cost: Cost, limit: Cost) -> Bool {
            cost.memory < limit.memory && cost.recovery < limit.recovery
        }
    }
}
