import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// A program that is attacked, and an honest peer that speaks with it meanwhile.
struct Victim: Sendable {
    /// How much memory an attack may take. Several times what `PeerLimits` let through, since a busy machine looks late.
    static let maximumGrowth = 300 << 20
    /// The pause between two honest requests.
    private static let pause = Duration.milliseconds(10)
    /// How long an honest request may take, on a busy machine.
    private static let limit = Duration.seconds(20)

    let program: ProgramUnderTest
    let ready: ProgramReady
    let context: Context
    let thread: SocketThread
    private let client: RequestClient
    private let options: SocketOptions
    private let process: Int32

    /// A program that runs.
    /// - Parameter security: what honest peers show.
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

    /// What it measures of itself.
    func measures() async throws -> [String: Double] {
        try await client.send(ServiceHealth(), timeout: Self.limit).measures ?? [:]
    }

    /// Attacks it, and checks that it lives, takes little memory, and serves honest peers, meanwhile and afterwards.
    /// - Parameters:
    ///   - growth: how much memory it may take.
    ///   - newcomers: whether one that connects meanwhile must be served too.
    ///   - attack: continues as long as it likes.
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
