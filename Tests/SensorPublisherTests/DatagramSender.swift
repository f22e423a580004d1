import Glibc
import TestSupport

/// Sends datagrams to a port of this machine.
final class DatagramSender: Sendable {
    let port: UInt16
    private let descriptor: Int32

    /// - Parameter host: the last number of the address 127.0.0.x that it sends from.
    init(port: UInt16, from host: UInt32 = 1) throws {
        self.port = port
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        for (call, host, port) in [(bind, host, 0), (connect, 1, port)] {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = UInt16(port).bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0000 + host).bigEndian
            let result = withUnsafePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    call(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard result == 0 else { throw TestFailure("socket: \(errno)") }
        }
    }

    deinit { close(descriptor) }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        guard Glibc.send(descriptor, bytes, bytes.count, 0) == bytes.count else { throw TestFailure("send: \(errno)") }
    }
}
