import ServiceKit
import SystemPackage

/// An access key of S3-compatible storage.
struct S3Credentials: Hashable, Sendable {
    /// Identifies the key. Requests contain it as it is, but it is still treated as a secret.
    let keyIdentifier: Secret
    /// The secret key that signs requests.
    let key: Secret
    /// The session token of a temporary key.
    let token: Secret?

    /// The source of a key. It is read for each attempt, so that keys can be changed while the program runs.
    enum Source: Hashable, Sendable {
        /// `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and optionally `AWS_SESSION_TOKEN`.
        case environment([String: String])
        /// The section `[default]` of a file in the format of other S3 programs (`aws_access_key_id = …`), or the whole file if
        /// it has no sections.
        case file(FilePath)

        /// Reads the current key.
        /// - Throws: `InvalidValue` with advice and without secrets.
        func credentials() throws(InvalidValue) -> S3Credentials {
            switch self {
            case .environment(let variables):
                try S3Credentials(
                    variables["AWS_ACCESS_KEY_ID"], variables["AWS_SECRET_ACCESS_KEY"], variables["AWS_SESSION_TOKEN"],
                    else: "there is no key for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
                        + "or name a file with s3-credentials")
            case .file(let path): try Self.read(path)
            }
        }

        private static func read(_ path: FilePath) throws(InvalidValue) -> S3Credentials {
            var section = "default"
            var values: [String: String] = [:]
            for line in try SecretFile.lines(of: path) {
                if line.hasPrefix("["), line.hasSuffix("]") {
                    section = String(line.dropFirst().dropLast().trimmed)
                } else if section == "default", let equals = line.firstIndex(of: "=") {
                    values[line[..<equals].trimmed.lowercased()] = String(line[line.index(after: equals)...].trimmed)
                }
            }
            return try S3Credentials(
                values["aws_access_key_id"], values["aws_secret_access_key"], values["aws_session_token"],
                else: "\(path) has no key: write aws_access_key_id = … and aws_secret_access_key = …")
        }
    }

    private init(
        _ identifier: String?, _ key: String?, _ token: String?, else complaint: String
    ) throws(InvalidValue) {
        guard let identifier, let key, !identifier.isEmpty, !key.isEmpty else { throw InvalidValue(complaint) }
        keyIdentifier = Secret(identifier)
        self.key = Secret(key)
        self.token = token.flatMap { $0.isEmpty ? nil : Secret($0) }
    }
}
