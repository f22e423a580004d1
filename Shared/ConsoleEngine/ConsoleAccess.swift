import Messages
import ServiceKit
import WebIdentity
import WebServer

/// Access to the console: the role of each request, and the links that grant access.
struct ConsoleAccess: Sendable {
    /// The console's certificate, and the tokens that browsers must present.
    struct Keys {
        let identity: WebIdentity?
        /// By role; empty if everybody on this machine has access.
        let tokens: [String: String]

        /// Reads the identity, or makes tokens for this run.
        /// - Throws: `ServiceError` (bad configuration) with advice.
        init(_ settings: ConsoleSettings, at date: WallTime) throws(ServiceError) {
            let roles = Role.allCases.map(\.rawValue)
            identity = try settings.identity.map { path throws(ServiceError) in
                try WebIdentity(
                    in: path, users: roles, host: settings.listen.host, names: settings.name, at: date)
            }
            tokens =
                identity?.tokens
                ?? (settings.login ? Dictionary(uniqueKeysWithValues: roles.map { ($0, WebToken.make()) }) : [:])
        }
    }

    let admission: WebAdmission
    /// Whether the console uses TLS.
    let isSecure: Bool
    /// Printed at the start.
    let greeting: String
    private let most: Role

    init(_ settings: ConsoleSettings, _ keys: Keys, port: UInt16) {
        most = settings.role
        let names = Set(settings.name.map { $0.lowercased() })
        let identity = keys.identity
        isSecure = identity != nil
        admission = WebAdmission(
            port: port, isSecure: identity != nil, tokens: keys.tokens, origins: Set(settings.allowOrigin)
        ) { name in
            names.contains(name) || identity?.isFor(name) ?? false
        }
        let place = settings.listen.place(
            port: port, forAll: settings.name.first ?? (identity == nil ? "127.0.0.1" : WebIdentity.machineName))
        let address = "\(identity == nil ? "http" : "https")://\(place)/"
        var lines = ["console: open \(address)"]
        let links = Role.allCases.reversed().compactMap { role in keys.tokens[role.rawValue].map { (role, $0) } }
        if !keys.tokens.isEmpty {
            lines = links.map { role, token in
                "console: open \(address)?token=\(token) \(Self.permission(of: min(role, settings.role)))"
            }
        }
        if let identity { lines.append("console: \(identity.introduction)") }
        greeting = lines.map { $0 + "\n" }.joined()
    }

    private static func permission(of role: Role) -> String {
        switch role {
        case .listen: "to look"
        case .command: "to look and to control recordings"
        case .delete: "to look, to control recordings and to remove them"
        }
    }

    /// The role of a request.
    func role(of request: WebRequest) -> Role {
        guard let user = request.user else { return most }
        // A user whose name is not a role gets the least role.
        return min(most, Role(rawValue: user) ?? .listen)
    }
}
