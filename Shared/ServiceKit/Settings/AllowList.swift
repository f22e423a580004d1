package import Messages
package import ZeroMQ

/// The accepted keys, and the role of each.
package struct AllowList: Hashable, Sendable {
    package struct Client: Hashable, Sendable {
        /// The name of the key's file without `.key`.
        package let name: String
        package let role: Role
    }

    private var clients: [CurveKey: Client] = [:]
    /// Keys that are in several files, with a file's name: a second file must not grant a role, so none of them counts.
    private var doubles: [CurveKey: String] = [:]
    /// The problems of keys that are therefore not on the list, in sentences.
    package private(set) var problems: [String] = []

    package init() {}

    package var count: Int { clients.count }

    /// The client with a key, if the key is on the list.
    package subscript(key: CurveKey) -> Client? { clients[key] }

    /// Adds a key, or records why it can't be added.
    package mutating func add(_ certificate: KeyCertificate, of name: String) {
        guard let role = certificate.role else {
            return note(
                "\(name).key has no role: write role = \"listen\" under metadata, or one of \(KeyCertificate.roles)")
        }
        if let other = clients.removeValue(forKey: certificate.publicKey)?.name ?? doubles[certificate.publicKey] {
            doubles[certificate.publicKey] = other
            return note("\(other).key and \(name).key have the same key, so neither is accepted: remove one")
        }
        clients[certificate.publicKey] = Client(name: name, role: role)
    }

    package mutating func note(_ problem: String) { problems.append(problem) }
}
