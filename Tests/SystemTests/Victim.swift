import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// A program that is attacked, with an honest client that uses it meanwhile.
struct Victim: Sendable {
    /// The memory that an attack may take: several times what `PeerLimits` allows, since a busy machine checks late.
    static let maximumGrowth = 300 << 20
    /// The pause between two honest requests.
    private static let pause = Duration.milliseconds(10)
    /// The longest time that an honest request may take, on a busy machine.
    private static let limit = Duration.seconds(20)

    let program: ProgramUnderTest
    let ready: ProgramReady
    let context: Context
    let thread: SocketThread
    private let client: RequestClient
    private let options: SocketOptions
    private let process: Int32

    /// Attaches to a running program.
    /// - Parameter security: the keys of honest peers.
    init(_ program: ProgramUnderTest, security: SocketSecurity = .plain) async throws {
        var options = SocketOptions()
        options.security = security
        self.options = options
        self.program = program
        context = try Context()
        thread = try SocketThread(name: "honest")
        ready = try await program.ready()
        client = try RequestClient(context: context, thread: thread, endpoint: ready.reply, options: options)
        process = try #require(program.processIdentifier)
    }

    func measures() async throws -> [String: Double] {
        try await client.send(ServiceHealth(), timeout: Self.limit).measures ?? [:]
    }

    /// Attacks the program, and checks that it survives, uses little memory, and serves honest peers during and after the attack.
    /// - Parameters:
    ///   - growth: how much memory the attack may take.
    ///   - newcomers: whether a client that connects during the attack must be served too.
    ///   - attack: may run for any time.
    func endure(
        _ what: String, growth maximum: Int = maximumGrowth, newcomers: Bool = true,
        _ attack: @escaping @Sendable () async throws -> Void
    ) async throws {
        let memory = try memory("VmRSS")
        try resetPeak()
        try await serve(what, newcomers: newcomers, during: attack)
        let growth = try self.memory("VmHWM") - memory
        #expect(growth < maximum, "\(what): \(growth >> 20) MiB")
        #expect(program.processIdentifier != nil, "\(what)")
        do {
            _ = try await newClient().send(ServiceClock(), timeout: Self.limit)
        } catch is ZeroMQError {
            throw TestFailure("\(what): an honest newcomer was not answered afterwards")
        }
    }

    /// Attacks the program while honest clients send requests.
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
                        _ = try await self.client.send(ServiceClock(), timeout: Self.limit)
                    } catch is ZeroMQError {
                        throw TestFailure("\(what): an honest peer was not answered")
                    }
                    do {
                        if newcomers { _ = try await self.newClient().send(ServiceClock(), timeout: Self.limit) }
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

    private func newClient() throws -> RequestClient {
        try RequestClient(context: context, thread: thread, endpoint: ready.reply, options: options)
    }

    /// A size from the status file in proc(5), in bytes.
    private func memory(_ name: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(name + ":") })
        let number = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
        return try #require(number.flatMap { Int($0) }) << 10
    }

    /// Resets the kernel's record of the process's peak memory.
    private func resetPeak() throws {
        try Data("5".utf8).write(to: URL(filePath: "/proc/\(process)/clear_refs"))
    }
}
