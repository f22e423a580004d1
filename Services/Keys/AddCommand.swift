import ArgumentParser
import Messages
import ServiceKit
import SystemPackage
import ZeroMQ

/// The `add` subcommand: adds a client to the list.
struct AddCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Add a client.",
        discussion: """
            Makes NAME.key_secret, which you give to the client, and NAME.key, which stays here. If the client made its own \
            key pair, pass the public half with --public-key: the secret half then never leaves the client.
            """)

    @Argument(help: "The directory of keys.")
    var directory: String

    @Argument(help: "The client's name: letters, digits, '-', '_' and '.'.")
    var name: String

    @Option(
        help: "The client's role: \(KeyCertificate.roles). Each includes those before it.",
        transform: Role.init(typed:))
    var role: Role

    // One in 85 keys begins with a hyphen.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The client's public key, if it has one already.", valueName: "z85"))
    var publicKey: String?

    func validate() throws {
        guard Self.isName(name) else {
            throw ValidationError("'\(name)' can't be a key's name: use 1 to 64 letters, digits, '-', '_' and '.'")
        }
        guard Program(rawValue: name) == nil else {
            throw ValidationError("'\(name)' is a program: make its key with holdfast-keys make \(directory)")
        }
        if let publicKey, CurveKey(publicKey) == nil {
            throw ValidationError("--public-key is not a key: give its 40 characters of Z85")
        }
    }

    func run() throws {
        try KeysCommand.report {
            let keys = KeyDirectory(FilePath(directory))
            let names = try keys.names()
            guard !names.contains(name) else {
                throw ServiceError(
                    .badConfiguration, "\(keys.publicFile(of: name)) exists: remove it, or choose another name")
            }
            if let key = publicKey.flatMap(CurveKey.init) {
                // A key in two files is not on the list.
                if let owner = names.first(where: { (try? keys.publicKey(of: $0)) == key }) {
                    throw ServiceError(
                        .badConfiguration,
                        "\(owner) has this key already: remove \(keys.publicFile(of: owner)), or give another key")
                }
                try keys.add(KeyCertificate(publicKey: key, role: role), as: name)
                StandardStream.output.print("\(name) may \(role.rawValue)\n")
            } else {
                _ = try keys.make(name, role: role)
                StandardStream.output.print(
                    """
                    \(name) may \(role.rawValue)
                    give \(keys.secretFile(of: name)) to \(name), with the .key of each program that it connects to, then \
                    remove that file here

                    """)
            }
        }
    }

    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.first != "."
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }
    }
}
