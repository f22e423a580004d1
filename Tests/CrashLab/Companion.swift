import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import ZeroMQ

/// A program beside publisher and recorder that is killed and restarted.
///
/// Confined to the task of one experiment.
final class Companion {
    let name: String
    let publish: String
    let reply: String
    private let victim: Victim
    private let arguments: [String]
    private let client: RequestClient
    private var program: ProgramUnderTest?
    /// Log messages about lost samples.
    private(set) var complaints: [Substring] = []

    /// A program that is not started yet. `run` must be running as long as the program is used.
    init(_ name: String, in lab: Laboratory, _ arguments: [String]) throws {
        self.name = name
        let endpoints = try FreePort.endpoints(2)
        (publish, reply) = (endpoints[0], endpoints[1])
        victim = Victim(lab.programs.appending(name))
        self.arguments =
            ["--publish", publish, "--reply", reply, "--log-level", "warning"] + (lab.keys?.options ?? []) + arguments
        client = try lab.client(of: name, at: reply)
    }

    var log: WrittenLog { victim.log }

    var run: @Sendable () async -> Void { { [victim] in await victim.run() } }

    func start() async throws {
        let program = try await victim.start(arguments)
        self.program = program
        _ = try await program.ready()
    }

    func kill() async throws { try await end(.kill, expecting: .killed(by: 9)) }

    /// Terminates the program as a supervisor does.
    func terminate() async throws { try await end(.terminate, expecting: .exited(0)) }

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
