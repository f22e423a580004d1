import FoundationEssentials
import NATS
import SystemPackage
import TestSupport
import Testing

/// Real NATS servers, installed by Scripts/setup-nats.
struct NATSServers: Sendable {
    enum Kind: String, CaseIterable, Sendable, CustomTestStringConvertible {
        /// Debian's version, 2.9.10.
        case debian = "nats-server-debian"
        /// Version 2.15.1.
        case current = "nats-server"

        var testDescription: String { rawValue }
        var executable: FilePath { NATSServers.tools.appending(rawValue) }
        var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: executable.string) }
    }

    private static let tools = FilePath(#filePath).removingLastComponent().appending("../../.build-nats")
    /// A Python with nats-py.
    static let python = tools.appending("nats-python")

    static let areInstalled =
        Kind.allCases.allSatisfy(\.isInstalled) && FileManager.default.isExecutableFile(atPath: python.string)
    /// Why a test was skipped.
    static let areMissing: Comment = "relay is NOT tested here with real servers: make nats gets them"

    let servers: [RevivedProgram]
    /// The addresses for clients.
    let addresses: [String]
    private let directory: FilePath

    /// Runs one server or a cluster on free ports, with its files in a directory.
    /// - Parameter security: further configuration for users and permissions. TLS is configured as in `tls`.
    init(
        _ kind: Kind, count: Int, security: String = "", isEncrypted: Bool = false, in directory: FilePath
    ) throws {
        let ends = try (0..<2 * count).map { _ in "127.0.0.1:\(try FreePort.next())" }
        try self.init(
            kind, at: Array(ends[..<count]), routes: Array(ends[count...]), scheme: isEncrypted ? "tls" : "nats",
            security: security, in: directory
        ) { executable, _ in (executable, []) }
    }

    /// A cluster on the first hosts of a network.
    init(_ kind: Kind, count: Int, on network: Network, in directory: FilePath) throws {
        func ends(_ port: Int) -> [String] { (1...count).map { "\(network.address($0)):\(port)" } }
        try self.init(kind, at: ends(4222), routes: ends(6222), in: directory) { executable, index in
            let (command, arguments) = network.on(index + 1)
            return (command, arguments + [executable.string])
        }
    }

    /// - Parameter command: the executable that starts a server, and its first arguments, from the server's executable and index.
    private init(
        _ kind: Kind, at ends: [String], routes: [String], scheme: String = "nats", security: String = "",
        in directory: FilePath,
        command: (FilePath, Int) -> (FilePath, [String])
    ) throws {
        addresses = ends.map { "\(scheme)://\($0)" }
        self.directory = directory
        servers = try ends.indices.map { index in
            let cluster = """
                cluster { name: holdfast, listen: "\(routes[index])", \
                routes: [\(routes.map { "\"nats://\($0)\"" }.joined(separator: ", "))] }
                """
            let sync = kind == .current ? "sync_interval: always" : ""
            let text = """
                server_name: n\(index)
                listen: "\(ends[index])"
                jetstream { store_dir: "\(directory)/n\(index)"
                  \(sync)
                }
                \(ends.count > 1 ? cluster : "")
                \(security)

                """
            let file = directory.appending("n\(index).conf").string
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            let (executable, arguments) = command(kind.executable, index)
            return RevivedProgram(
                executable: executable, arguments: arguments + ["-c", file], in: directory,
                isReady: { try await $0.complaint(containing: "Server is ready") })
        }
    }

    /// The directory of a server's files.
    func storage(of index: Int) -> FilePath { directory.appending("n\(index)") }

    /// A relay's options that name the servers.
    func options(_ name: String) -> [String] { addresses.flatMap { ["--\(name)", $0] } }
}

extension NATSConnection {
    /// Makes the stream that relays use, as soon as a server is available.
    func makeStream(within limit: Duration, replicas: Int = 1) async throws {
        let settings = NATSStreamSettings(
            name: "holdfast", subjects: ["holdfast.>"], replicas: replicas, maximumBytes: nil, maximumAge: nil,
            duplicateWindow: 120_000_000_000)
        try await eventually("a stream", within: limit) {
            connectAgain()
            return (try? createStream(settings)) != nil
        }
    }
}
