import ServiceKit
import SystemPackage
import TestSupport
import ZeroMQ

/// The keys with which the programs and the laboratory authenticate each other.
struct LabKeys: Sendable {
    /// The laboratory's keys for subscribing and for commands: each has only the role that it needs.
    private static let listener = "lab-listens"
    private static let commander = "lab-commands"

    private let directory: KeyDirectory
    private let listening: CurveKeyPair
    private let commanding: CurveKeyPair
    /// Accepts keys in the directory.
    private let authenticator: Authenticator

    /// Makes the keys of all programs, and the laboratory's keys by role, with the holdfast-keys program.
    init(in path: FilePath, of lab: Laboratory) async throws {
        for arguments in [
            ["make", path.string], ["add", path.string, Self.listener, "--role", "listen"],
            ["add", path.string, Self.commander, "--role", "command"],
        ] {
            let (end, text) = try await lab.output(of: "holdfast-keys", arguments)
            guard end == .exited(0) else { throw Violation("holdfast-keys \(arguments) \(end):\n\(text)") }
        }
        directory = KeyDirectory(path)
        listening = try directory.pair(of: Self.listener)
        commanding = try directory.pair(of: Self.commander)
        let list = try directory.allowList()
        authenticator = try Authenticator(context: lab.context, thread: SocketThread(name: "lab keys")) {
            list[$0.client] != nil
        }
    }

    /// The options that make a program use the keys.
    var options: [String] { ["--keys", directory.path.string] }

    /// The security of a subscriber to a program.
    func listening(to program: String) throws -> SocketSecurity {
        .client(listening, server: try directory.publicKey(of: program))
    }

    /// The security of a client that sends commands to a program.
    func commanding(_ program: String) throws -> SocketSecurity {
        .client(commanding, server: try directory.publicKey(of: program))
    }

    /// The security of a server that takes a program's place.
    func standing(in program: String) throws -> SocketSecurity {
        .server(try directory.pair(of: program), authenticator)
    }
}
