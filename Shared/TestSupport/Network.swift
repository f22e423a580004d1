import FoundationEssentials
import Glibc
package import MessageBus
import Synchronization
package import SystemPackage
import ZeroMQ

/// An isolated network: hosts are network namespaces, and so is the switch between them (ip-netns(8)).
///
/// Host 1 has the address 10.203.0.1, and so on. The network is not connected to any other; its programs share the file system.
/// It is removed with the test; the next test removes what a killed one left.
package struct Network: Sendable {
    /// What a network requires, shown when a test is skipped.
    package static let need = "needs root, namespaces, and ip of Debian's iproute2"
    private static let prefix = "holdfast-"
    private static let number = Atomic<Int>(0)
    private static let ip = Tool.path(of: "ip") ?? "/usr/sbin/ip"

    package let hosts: ClosedRange<Int>
    private let name: String

    /// Whether this machine can make a network.
    package static func isPossible() async -> Bool {
        guard getuid() == 0, FileManager.default.isExecutableFile(atPath: ip.string) else { return false }
        return (try? await run(hosts: 1) { _ in }) != nil
    }

    /// Makes a network for the duration of a body.
    package static func run<Result: Sendable>(
        hosts count: Int, _ body: (Network) async throws -> Result
    ) async throws -> Result {
        await removeStale()
        let network = Network(
            hosts: 1...count, name: "\(prefix)\(getpid())-\(number.add(1, ordering: .relaxed).newValue)")
        do {
            try await network.make()
            let result = try await body(network)
            await network.remove()
            return result
        } catch {
            await network.remove()
            throw error
        }
    }

    package func address(_ host: Int) -> String { "10.203.0.\(host)" }

    /// The command prefix that runs a program on a host.
    package func on(_ host: Int) -> (executable: FilePath, arguments: [String]) {
        (Self.ip, ["netns", "exec", namespace(host)])
    }

    /// Makes a name resolve to the addresses of hosts, on one host.
    package func setNames(of name: String, to addresses: [Int], on host: Int) throws {
        let lines = ["127.0.0.1 localhost"] + addresses.map { "\(address($0)) \(name)" }
        let text = lines.map { $0 + "\n" }.joined()
        // Written in place, because running programs have this very file mounted over /etc/hosts.
        let file = try FileDescriptor.open(
            etc(of: host).appending("hosts"), .writeOnly, options: [.create, .truncate],
            permissions: .ownerReadWrite)
        try file.closeAfter { _ = try file.writeAll(text.utf8) }
    }

    /// Takes a host's network interface down or up; the host notices.
    package func setLink(of host: Int, isUp: Bool) async throws {
        try await Self.ip("-n", namespace(host), "link", "set", "eth0", isUp ? "up" : "down")
    }

    /// Makes the switch drop or forward a host's traffic; nobody is notified.
    package func setSwitch(for host: Int, isOn: Bool) async throws {
        let setting = isOn ? ["master", "bridge"] : ["nomaster"]
        try await Self.ip(["-n", namespace(0), "link", "set", "port\(host)"] + setting)
    }

    // MARK: Sockets that tests reach

    /// Options for sockets in the file system, which all hosts share.
    package static func sockets(_ name: String, in data: FilePath) -> [String] {
        ["--publish", publishing(name, in: data), "--reply", "ipc://\(data)/\(name).reply"]
    }

    /// The endpoint for events of a program with such sockets.
    package static func publishing(_ name: String, in data: FilePath) -> String { "ipc://\(data)/\(name).publish" }

    /// A client for requests to a program with such sockets.
    package static func client(of name: String, in data: FilePath) throws -> RequestClient {
        try RequestClient(
            context: Context(), thread: SocketThread(name: "test"), endpoint: "ipc://\(data)/\(name).reply")
    }

    // MARK: Making and removing

    /// Number 0 is the switch.
    private func namespace(_ host: Int) -> String { "\(name)-\(host)" }

    private func etc(of host: Int) -> FilePath { FilePath("/etc/netns").appending(namespace(host)) }

    private func make() async throws {
        try await Self.ip("netns", "add", namespace(0))
        try await Self.ip("-n", namespace(0), "link", "add", "bridge", "type", "bridge", "forward_delay", "0")
        try await Self.ip("-n", namespace(0), "link", "set", "bridge", "up")
        for host in hosts {
            let namespace = namespace(host)
            try FileManager.default.createDirectory(
                atPath: etc(of: host).string, withIntermediateDirectories: true)
            try setNames(of: "", to: [], on: host)
            try await Self.ip("netns", "add", namespace)
            try await Self.ip(
                "link", "add", "eth0", "netns", namespace, "address", Self.hardware(host), "type", "veth", "peer",
                "name",
                "port\(host)", "netns", self.namespace(0))
            try await Self.ip("-n", namespace, "address", "add", "\(address(host))/24", "dev", "eth0")
            try await Self.ip("-n", namespace, "link", "set", "lo", "up")
            try await setLink(of: host, isUp: true)
            try await Self.ip("-n", self.namespace(0), "link", "set", "port\(host)", "up")
            try await setSwitch(for: host, isOn: true)
            // As if there were routers between the hosts: an absent host must not be noticed by failing address resolution.
            for other in hosts where other != host {
                try await Self.ip(
                    "-n", namespace, "neighbour", "replace", address(other), "lladdr", Self.hardware(other), "dev",
                    "eth0", "nud", "permanent")
            }
        }
    }

    private func remove() async { for host in 0...hosts.upperBound { await Self.remove(namespace(host)) } }

    private static func remove(_ namespace: String) async {
        // Programs in it may have been killed a moment ago. Its interfaces are removed too.
        _ = try? await ip("netns", "delete", namespace)
        try? FileManager.default.removeItem(atPath: "/etc/netns/\(namespace)")
    }

    /// Removes networks of tests that no longer run, and kills the programs in them.
    private static func removeStale() async {
        let left = ["/run/netns", "/etc/netns"].reduce(into: Set<String>()) { left, directory in
            left.formUnion((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [])
        }
        for namespace in left where namespace.hasPrefix(prefix) {
            guard let process = namespace.dropFirst(prefix.count).split(separator: "-").first.flatMap({ pid_t($0) }),
                kill(process, 0) != 0, errno == ESRCH
            else { continue }
            // The programs of a killed test may still be running.
            let programs = (try? await Tool.output(of: ip, ["netns", "pids", namespace])) ?? ""
            for program in programs.split(separator: "\n").compactMap({ pid_t($0) }) { kill(program, SIGKILL) }
            await remove(namespace)
        }
    }

    private static func hardware(_ host: Int) -> String { "02:00:00:00:00:0\(host)" }

    private static func ip(_ arguments: String...) async throws { try await ip(arguments) }

    private static func ip(_ arguments: [String]) async throws { _ = try await Tool.output(of: ip, arguments) }
}
