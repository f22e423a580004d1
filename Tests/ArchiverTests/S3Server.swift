import FoundationEssentials
import SystemPackage
import TestSupport

@testable import Upload

/// A running S3 server with a bucket `archives`, and Amazon's client to inspect it.
///
/// moto replies as Amazon does, with the SHA-256 of objects and of parts, and checks signatures, but does not compare bodies with
/// their declared hashes. OpenStack Swift checks all of that, but reports only MD5. Neither is Amazon: quotas, regions, temporary
/// keys and the replacement of objects during an upload are not covered.
struct S3Server: Sendable {
    enum Kind: String, CaseIterable, Sendable { case moto, swift }

    @TaskLocal static var current: [Kind: S3Server] = [:]

    let kind: Kind
    let endpoint: String
    /// The access key, as environment variables.
    let key: [String: String]
    /// Where Amazon's client listens.
    private let clientEndpoint: String

    /// The server of the running suite.
    static func running(_ kind: Kind) throws -> S3Server {
        guard let server = current[kind] else { throw TestFailure("the suite has no S3") }
        return server
    }

    /// Runs both servers and the client while the body runs.
    static func run(_ body: ([Kind: S3Server]) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let data = directory.appending("swift").string
            try await ReceiverPrograms.serve([
                ["moto_s3.py"], ["openstack_swift.py", data], ["s3_client.py"],
            ]) { ready in
                var servers: [Kind: S3Server] = [:]
                for (kind, server) in zip([Kind.moto, .swift], ready) {
                    let server = S3Server(
                        kind: kind, endpoint: server.endpoint,
                        key: ["AWS_ACCESS_KEY_ID": server.key ?? "", "AWS_SECRET_ACCESS_KEY": server.secret ?? ""],
                        clientEndpoint: ready[2].endpoint)
                    try await server.client("make")
                    servers[kind] = server
                }
                try await body(servers)
            }
        }
    }

    /// The receiver for this server's bucket.
    func store(
        bucket: String = "archives", prefix: String = "", key: [String: String]? = nil
    ) throws -> S3Store {
        S3Store(
            bucket: bucket, prefix: prefix, endpoint: try WebAddress(typed: endpoint), region: "us-east-1",
            addressing: .path, credentials: .environment(key ?? self.key))
    }

    /// Runs a command of Amazon's client and returns its reply.
    @discardableResult
    func client(_ command: String, key: String = "") async throws -> String {
        let query = SignatureV4.sent([
            ("bucket", "archives"), ("key", key), ("endpoint", endpoint), ("identifier", self.key["AWS_ACCESS_KEY_ID"]),
            ("secret", self.key["AWS_SECRET_ACCESS_KEY"]),
        ])
        return try await WebClient().get("\(clientEndpoint)/\(command)?\(query)")
    }

    /// An object as Amazon's client sees it.
    struct Object: Codable, Hashable {
        let bytes: Int
        let sha256: String
    }

    /// Reads an object with Amazon's client.
    func object(_ key: String) async throws -> Object {
        try JSONDecoder().decode(Object.self, from: Data(try await client("get", key: key).utf8))
    }
}
