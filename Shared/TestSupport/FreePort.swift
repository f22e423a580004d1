import Glibc
import Synchronization

/// Ports for programs that are started later, and perhaps again.
package enum FreePort {
    /// Whoever was given one may not listen there yet.
    private static let given = Mutex<Set<UInt16>>([])

    /// A port of this machine on which nobody listens, below those that the system gives to whoever asks for any. None is
    /// given twice.
    package static func next() throws -> UInt16 {
        for _ in 0..<1_000 {
            let port = UInt16.random(in: 10_000..<32_000)
            if given.withLock({ $0.insert(port).inserted }), isFree(port) { return port }
        }
        throw TestFailure("there are no free ports")
    }

    /// An endpoint at such a port.
    package static func endpoint() throws -> String { "tcp://127.0.0.1:\(try next())" }

    /// Endpoints at such ports.
    package static func endpoints(_ count: Int) throws -> [String] { try (0..<count).map { _ in try endpoint() } }

    /// Whether somebody could listen on a port of this machine now.
    private static func isFree(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        return withAddress(port: port) { bind(descriptor, $0, $1) == 0 }
    }
}
