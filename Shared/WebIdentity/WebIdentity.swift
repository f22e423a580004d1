import Files
import Glibc
package import Messages
package import ServiceKit
package import SystemPackage
package import WebServer

/// The identity of a server that other machines can reach, and the tokens of its users: a directory with `certificate.pem`,
/// `private-key.pem` and `tokens.json`. Missing files are made, so that links and certificate stay the same across restarts.
package struct WebIdentity: Sendable {
    private static let certificateName = "certificate.pem"
    private static let keyName = "private-key.pem"
    private static let tokensName = "tokens.json"

    private let certificate: ServerCertificate
    /// The tokens that clients must present, by user.
    package let tokens: [String: String]
    /// Whether the certificate was just made.
    package let isNew: Bool
    /// A notice for the owner; nil if there is none.
    package let notice: String?

    /// Reads a directory, and makes missing files in it.
    /// - Parameters:
    ///   - users: users to make tokens for, if there are no tokens yet.
    ///   - host: the address to listen on; a new certificate includes it, `names`, and this machine's name.
    /// - Throws: `ServiceError` (bad configuration) with advice.
    package init(in path: FilePath, users: [String], host: String, names: [String], at date: WallTime)
        throws(ServiceError)
    {
        do {
            let directory = Directory(path)
            if !directory.exists {
                try directory.create()
                chmod(path.string, 0o700)
            }
            for name in [Self.keyName, Self.tokensName] where directory.contains(name) {
                try Self.requireSecret(path.appending(name))
            }
            let (hasCertificate, hasKey) = (
                directory.contains(Self.certificateName), directory.contains(Self.keyName)
            )
            guard hasCertificate == hasKey else {
                throw ServerCertificate.Fault(
                    text:
                        "only one of \(Self.certificateName) and \(Self.keyName) exists: provide both, or neither to have them made"
                )
            }
            isNew = !hasCertificate
            if hasCertificate {
                certificate = try ServerCertificate(
                    certificate: String(decoding: directory.read(Self.certificateName), as: UTF8.self),
                    key: String(decoding: directory.read(Self.keyName), as: UTF8.self))
            } else {
                let name = Self.machineName
                certificate = try ServerCertificate.make(
                    for: name, names: Self.alternatives([name] + names + [host]), at: date)
                try Self.write(certificate.key, as: Self.keyName, in: path, mode: 0o600)
                try Self.write(certificate.certificate, as: Self.certificateName, in: path, mode: 0o644)
            }
            if directory.contains(Self.tokensName) {
                tokens = try Self.tokens(in: directory.read(Self.tokensName), of: users)
            } else {
                let made = Dictionary(uniqueKeysWithValues: users.map { ($0, WebToken.make()) })
                let text = String(decoding: try WireCoding.encode(made), as: UTF8.self)
                try Self.write(text + "\n", as: Self.tokensName, in: path, mode: 0o600)
                tokens = made
            }
        } catch {
            let reason = (error as? ServerCertificate.Fault)?.text ?? "\(error)"
            throw ServiceError(.badConfiguration, "the identity in \(path) can't be used: \(reason)")
        }
        notice =
            certificate.isValid(at: date)
            ? nil
            : "the certificate in \(path) is not valid now, so browsers warn about it. Replace it, or remove both \(Self.certificateName) and "
                + "\(Self.keyName) to have new ones made."
    }

    package var credentials: WebCredentials {
        WebCredentials(certificate: certificate.certificate, key: certificate.key)
    }

    /// The certificate's SHA-256 fingerprint, as browsers show it.
    package var fingerprint: String { certificate.fingerprint }

    /// For people to compare before they trust the server, as part of a sentence.
    package var introduction: String {
        "the certificate\(isNew ? ", made now," : "") has the SHA-256 fingerprint \(fingerprint)"
    }

    /// Whether the certificate is valid for this host name.
    package func isFor(_ name: String) -> Bool { certificate.isFor(name) }

    private static func tokens(
        in bytes: [UInt8], of users: [String]
    ) throws(ServerCertificate.Fault) -> [String: String] {
        guard let read = try? WireCoding.decode([String: String].self, from: bytes),
            read.allSatisfy({ users.contains($0.key) && WebToken.isGood($0.value) }),
            Set(read.values).count == read.count, !read.isEmpty
        else {
            throw ServerCertificate.Fault(
                text:
                    "\(tokensName) must look like {\"\(users.first ?? "user")\":\"…\"}, with some of \(users.joined(separator: ", ")), "
                    + "each with a different token of \(WebToken.leastLength) or more letters, digits, - and _")
        }
        return read
    }

    private static func requireSecret(_ path: FilePath) throws {
        guard try path.stat().permissions.contains(.otherRead) else { return }
        throw ServerCertificate.Fault(
            text: "everybody on this machine can read \(path.lastComponent?.string ?? ""): chmod 600 it")
    }

    /// Writes a file atomically: if it exists, it is complete.
    private static func write(_ text: String, as name: String, in path: FilePath, mode: UInt16) throws {
        let temporary = path.appending(Directory.temporaryName(for: name))
        let file = try FileDescriptor.open(
            temporary, .writeOnly, options: [.create, .truncate, .closeOnExec],
            permissions: FilePermissions(rawValue: CModeT(mode)))
        try file.closeAfter {
            try file.writeAll(text.utf8)
            if fsync(file.rawValue) != 0 { throw Errno(rawValue: errno) }
        }
        if rename(temporary.string, path.appending(name).string) != 0 { throw Errno(rawValue: errno) }
        try Directory(path).sync()
    }

    // MARK: This machine

    /// This machine's name in lower case, or `localhost` if the name can't be used in a link.
    package static var machineName: String {
        let name = HostName.current ?? ""
        let isName = !name.isEmpty && name.utf8.allSatisfy { WebToken.isPlain($0) || $0 == UInt8(ascii: ".") }
        return isName ? name.lowercased() : "localhost"
    }

    /// Names and addresses in the form for a certificate.
    private static func alternatives(_ hosts: [String]) -> [String] {
        var all: [String] = []
        for host in hosts.map({ $0.lowercased() }) + ["localhost", "127.0.0.1", "::1"] where host != "*" {
            var (four, six) = (in_addr(), in6_addr())
            let isAddress = inet_pton(AF_INET, host, &four) == 1 || inet_pton(AF_INET6, host, &six) == 1
            let names = isAddress ? ["IP:\(host)"] : ["DNS:\(host)"] + (host.contains(".") ? [] : ["DNS:\(host).local"])
            for name in names where !all.contains(name) && name != "DNS:localhost.local" { all.append(name) }
        }
        return all
    }
}
