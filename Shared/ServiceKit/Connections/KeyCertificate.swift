package import Messages
package import ZeroMQ

/// A key in a file, as CZMQ and pyzmq write and read it: ZPL (RFC 4) with `metadata` / `role` and `curve` / `public-key`,
/// `secret-key`. All other entries are ignored.
package struct KeyCertificate: Hashable, Sendable {
    package let publicKey: CurveKey
    /// Both halves, if the file has both.
    package let pair: CurveKeyPair?
    /// The owner's role, if the file has one.
    package let role: Role?

    /// Creates a certificate for writing.
    package init(publicKey: CurveKey, pair: CurveKeyPair? = nil, role: Role?) {
        self.publicKey = publicKey
        self.pair = pair
        self.role = role
    }

    /// Parses a file's text.
    /// - Throws: `InvalidValue`, which describes the fault without any key.
    package init(text: String) throws(InvalidValue) {
        let values = try Self.values(in: text)
        guard let publicKey = values["curve/public-key"] else { throw InvalidValue("it has no public-key under curve") }
        guard let publicKey = CurveKey(publicKey) else {
            throw InvalidValue("its public-key is not a key: 40 characters of Z85")
        }
        self.publicKey = publicKey
        if let secret = values["curve/secret-key"] {
            guard let secret = CurveKey(secret), let pair = try? CurveKeyPair(secretKey: secret) else {
                throw InvalidValue("its secret-key is not a key: 40 characters of Z85")
            }
            guard pair.publicKey == publicKey else {
                throw InvalidValue("its public-key and its secret-key do not match")
            }
            self.pair = pair
        } else {
            pair = nil
        }
        if let word = values["metadata/role"] {
            role = try Role(typed: word)
        } else {
            role = nil
        }
    }

    /// The text of the file that may be shared.
    package var publicText: String { text(withSecret: false) }
    /// The text of the file that must stay secret.
    package var secretText: String { text(withSecret: true) }

    /// The words for roles, for messages.
    package static var roles: String { Role.allCases.map(\.rawValue).joined(separator: ", ") }

    private func text(withSecret: Bool) -> String {
        var text = "# CURVE certificate of Holdfast: the \(withSecret ? "secret" : "public") half.\n"
        if withSecret { text += "# Keep this file secret: whoever has it can act as this client.\n" }
        text += "metadata\n"
        if let role { text += "    role = \"\(role.rawValue)\"\n" }
        text += "curve\n    public-key = \"\(publicKey.text)\"\n"
        if withSecret, let pair { text += "    secret-key = \"\(pair.secretKey.text)\"\n" }
        return text
    }

    /// The values by section and key. Sections begin without an indent, values are indented; comments are on lines of their
    /// own.
    private static func values(in text: String) throws(InvalidValue) -> [String: String] {
        var values: [String: String] = [:]
        var section = ""
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let content = line.trimmed
            if content.isEmpty || content.first == "#" { continue }
            guard let sign = content.firstIndex(of: "="), line.first?.isWhitespace == true else {
                section = String(content)
                continue
            }
            let key = "\(section)/\(content[..<sign].trimmed)"
            guard values[key] == nil else { throw InvalidValue("line \(number + 1) repeats \(key)") }
            values[key] = try unquoted(content[content.index(after: sign)...].trimmed, line: number + 1)
        }
        return values
    }

    private static func unquoted(_ value: Substring, line: Int) throws(InvalidValue) -> String {
        guard let quote = value.first, quote == "\"" || quote == "'" else { return String(value) }
        guard value.count >= 2, value.last == quote else { throw InvalidValue("line \(line) lacks a closing quote") }
        return String(value.dropFirst().dropLast())
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var text = self
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}
