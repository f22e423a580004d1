import FoundationEssentials
import Glibc
import ZeroMQ

/// The keys in the directory that `HOLDFAST_KEYS` names, as for the programs; if it is set, everything is measured encrypted.
enum Keys {
    /// Both halves of a program's key; nil if there are no keys.
    static func pair(of program: String) throws -> CurveKeyPair? {
        guard let directory = getenv("HOLDFAST_KEYS") else { return nil }
        let path = "\(String(cString: directory))/\(program).key_secret"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        guard let line = text.split(separator: "\n").first(where: { $0.contains("secret-key") }),
            let secret = CurveKey(String(line.split(separator: "\"")[1]))
        else { throw Child.Failure(description: "\(path) has no secret key") }
        return try CurveKeyPair(secretKey: secret)
    }

    /// The options of a client of a program, with the program's own key, which may do everything there.
    static func options(to program: String) throws -> SocketOptions {
        var options = SocketOptions()
        if let pair = try pair(of: program) { options.security = .client(pair, server: pair.publicKey) }
        return options
    }
}
