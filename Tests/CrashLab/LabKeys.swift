import ServiceKit
import SystemPackage
import TestSupport
import ZeroMQ

/// The keys that the programs and the laboratory show each other.
struct LabKeys: Sendable {
    /// What the laboratory shows where it listens, and where it gives orders: it may do no more than it needs.
    private static let listener = "lab-listens"
    private static let commander = "lab-commands"

    private let directory: KeyDirectory
    private let listening: CurveKeyPair
    private let commanding: CurveKeyPair
    /// Lets in whose key is in the directory.
    private let authenticator: Authenticator

    /// Makes the keys of all programs, and of the laboratory by their roles, with the program that makes them for everybody.
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

    /// The options that make a program use them.
    var options: [String] { ["--keys", directory.path.string] }

    /// To listen to a program.
    func listening(to program: String) throws -> SocketSecurity {
        .client(listening, server: try directory.publicKey(of: program))
    }

    /// To give a program orders.
    func commanding(_ program: String) throws -> SocketSecurity {
        .client(commanding, server: try directory.publicKey(of: program))
    }

    /// To stand in for a program.
    func standing(in program: String) throws -> SocketSecurity {
        .server(try directory.pair(of: program), authenticator)
    }
}
