package import Messages
package import ZeroMQ

/// Whose keys are accepted, and what each may do.
package struct AllowList: Hashable, Sendable {
    /// Somebody on the list.
    package struct Client: Hashable, Sendable {
        /// The name of the key's file without `.key`.
        package let name: String
        /// What its owner may do.
        package let role: Role
    }

    /// The clients by their public keys.
    private var clients: [CurveKey: Client] = [:]
    /// Keys that several files have: nobody may gain a role by a second file, so none of them counts.
    private var doubles: [CurveKey: String] = [:]
    /// What is wrong with keys that are not on the list for it, in sentences.
    package private(set) var problems: [String] = []

    /// A list with nobody on it.
    package init() {}

    /// How many keys there are.
    package var count: Int { clients.count }

    /// Who has a key, if it is on the list.
    package subscript(key: CurveKey) -> Client? { clients[key] }

    /// Puts a key on the list, or notes why it can't be.
    package mutating func add(_ certificate: KeyCertificate, of name: String) {
        guard let role = certificate.role else {
            return note(
                "\(name).key has no role: write role = \"listen\" under metadata, or one of \(KeyCertificate.roles)")
        }
        if let other = clients.removeValue(forKey: certificate.publicKey)?.name ?? doubles[certificate.publicKey] {
            doubles[certificate.publicKey] = other
            return note("\(other).key and \(name).key have the same key: remove one")
        }
        clients[certificate.publicKey] = Client(name: name, role: role)
    }

    /// Notes what keeps a key from the list.
    package mutating func note(_ problem: String) { problems.append(problem) }
}
