import FoundationEssentials
import SystemPackage
import TestSupport
import Testing

/// Real NATS servers: Scripts/setup-nats gets them.
struct NATSServers: Sendable {
    /// Which server runs.
    enum Kind: String, CaseIterable, Sendable, CustomTestStringConvertible {
        /// Debian's, 2.9.10.
        case debian = "nats-server-debian"
        /// 2.15.1.
        case current = "nats-server"

        var testDescription: String { rawValue }
        var executable: FilePath { NATSServers.tools.appending(rawValue) }
        var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: executable.string) }
    }

    private static let tools = FilePath(#filePath).removingLastComponent().appending("../../.build-nats")
    /// A Python that has nats-py.
    static let python = tools.appending("nats-python")

    static let areInstalled =
        Kind.allCases.allSatisfy(\.isInstalled) && FileManager.default.isExecutableFile(atPath: python.string)
    /// Why a test did not run.
    static let areMissing: Comment = "relay is NOT tested here with real servers: make nats gets them"

    let servers: [RevivedProgram]
    private let directory: FilePath
    private let ports: [UInt16]

    /// Servers on free ports, one alone or a cluster, which keep their files in a directory.
    init(_ kind: Kind, count: Int, in directory: FilePath) throws {
        let ports = try (0..<count).map { _ in try FreePort.next() }
        let routes = try (0..<count).map { _ in try FreePort.next() }
        self.ports = ports
        self.directory = directory
        servers = try (0..<count).map { index in
            let cluster = """
                cluster { name: holdfast, listen: "127.0.0.1:\(routes[index])", \
                routes: [\(routes.map { "\"nats://127.0.0.1:\($0)\"" }.joined(separator: ", "))] }
                """
            let sync = kind == .current ? "sync_interval: always" : ""
            let text = """
                server_name: n\(index)
                listen: "127.0.0.1:\(ports[index])"
                jetstream { store_dir: "\(directory)/n\(index)"
                  \(sync)
                }
                \(count > 1 ? cluster : "")

                """
            let file = directory.appending("n\(index).conf").string
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            return RevivedProgram(
                executable: kind.executable, arguments: ["-c", file], in: directory,
                isReady: { try await $0.complaint(containing: "Server is ready") })
        }
    }

    /// Where a server keeps its files.
    func storage(of index: Int) -> FilePath { directory.appending("n\(index)") }

    var addresses: [String] { ports.map { "nats://127.0.0.1:\($0)" } }

    /// The options of a relay that name them.
    func options(_ name: String) -> [String] { addresses.flatMap { ["--\(name)", $0] } }
}
