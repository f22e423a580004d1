import ArgumentParser
import Messages
import ServiceKit
import SystemPackage
import ZeroMQ

/// The `list` subcommand: the clients that may connect, and their roles. Exits with 78 if a key can't be on the list.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the clients that can connect, with roles and public keys.")

    @Argument(help: "The directory of keys.")
    var directory: String

    func run() throws {
        try KeysCommand.report {
            let keys = KeyDirectory(FilePath(directory))
            let list = try keys.allowList()
            for name in try keys.names() {
                guard let key = try? keys.publicKey(of: name), let client = list[key], client.name == name else {
                    continue
                }
                StandardStream.output.print("\(key.text)  \(client.role.rawValue.padded(to: 7))  \(name)\n")
            }
            if let problem = list.problems.first { throw ServiceError(.badConfiguration, problem) }
        }
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
