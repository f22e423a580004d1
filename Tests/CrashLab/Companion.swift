import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import ZeroMQ

/// A program beside publisher and recorder that is killed and started again.
///
/// Confined to the task of one experiment.
final class Companion {
    let name: String
    /// Where it publishes, and where it answers.
    let publish: String
    let reply: String
    private let victim: Victim
    private let arguments: [String]
    private let client: RequestClient
    private var program: ProgramUnderTest?
    /// What it said of samples that it lost.
    private(set) var complaints: [Substring] = []

    /// A program that is not started yet. `run` must continue as long as it is used.
    init(_ name: String, in lab: Laboratory, _ arguments: [String]) throws {
        self.name = name
        let endpoints = try FreePort.endpoints(2)
        (publish, reply) = (endpoints[0], endpoints[1])
        victim = Victim(lab.programs.appending(name))
        self.arguments =
            ["--publish", publish, "--reply", reply, "--log-level", "warning"] + (lab.keys?.options ?? []) + arguments
        client = try lab.client(of: name, at: reply)
    }

    /// What it wrote to its log.
    var log: WrittenLog { victim.log }

    /// Keeps the program, until the task is cancelled.
    var run: @Sendable () async -> Void { { [victim] in await victim.run() } }

    /// Starts it, and waits until it is ready.
    func start() async throws {
        let program = try await victim.start(arguments)
        self.program = program
        _ = try await program.ready()
    }

    /// Ends it at once.
    func kill() async throws { try await end(.kill, expecting: .killed(by: 9)) }

    /// Ends it as a supervisor does.
    func terminate() async throws { try await end(.terminate, expecting: .exited(0)) }

    /// Asks it.
    func ask<Question: Request>(_ question: Question) async throws -> Question.Reply {
        try await client.send(question, timeout: .seconds(20))
    }

    private func end(_ signal: ProgramSignal, expecting expected: ProgramEnd) async throws {
        guard let program else { return }
        try? program.send(signal)
        let end = try await program.end()
        complaints += program.standardError.split(separator: "\n").filter { $0.contains("samples lost") }
        guard end == expected else { throw Violation("\(name) \(end) at \(signal):\n\(program.standardError)") }
    }
}
