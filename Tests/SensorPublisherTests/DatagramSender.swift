import Glibc
import TestSupport

/// Sends datagrams to a port of this machine.
final class DatagramSender: Sendable {
    let port: UInt16
    private let descriptor: Int32

    /// - Parameter host: the last number of the sender's address 127.0.0.x.
    init(port: UInt16, from host: UInt32 = 1) throws {
        self.port = port
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        for (call, host, port) in [(bind, host, 0), (connect, 1, port)] {
            let result = withAddress(port: port, host: host) { call(descriptor, $0, $1) }
            guard result == 0 else { throw TestFailure("socket: \(errno)") }
        }
    }

    deinit { close(descriptor) }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        guard Glibc.send(descriptor, bytes, bytes.count, 0) == bytes.count else { throw TestFailure("send: \(errno)") }
    }
}
