import Glibc
import Synchronization

/// Ports for programs that are started later, and perhaps restarted.
package enum FreePort {
    /// Ports already handed out, whose programs may not listen yet.
    private static let given = Mutex<Set<UInt16>>([])

    /// A free port of this machine, below the range of ephemeral ports. No port is handed out twice.
    package static func next() throws -> UInt16 {
        for _ in 0..<1_000 {
            let port = UInt16.random(in: 10_000..<32_000)
            if given.withLock({ $0.insert(port).inserted }), isFree(port) { return port }
        }
        throw TestFailure("there are no free ports")
    }

    /// An endpoint at a free port.
    package static func endpoint() throws -> String { "tcp://127.0.0.1:\(try next())" }

    /// Endpoints at free ports.
    package static func endpoints(_ count: Int) throws -> [String] { try (0..<count).map { _ in try endpoint() } }

    /// Whether a program could listen on this port now.
    private static func isFree(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        return withAddress(port: port) { bind(descriptor, $0, $1) == 0 }
    }
}
