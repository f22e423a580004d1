import Glibc
package import SystemPackage

/// A listening TCP socket, until `take()` hands it over.
package struct HTTPListener: ~Copyable {
    /// Limit of connections that wait to be accepted.
    private static let backlog: Int32 = 64

    private let descriptor: Int32
    package let port: UInt16

    /// Starts to listen.
    /// - Parameters:
    ///   - host: a name or an address of this machine, or `*` for all its IPv4 addresses.
    ///   - port: 0 for any free port.
    /// - Throws: the error of bind(2); `addressNotAvailable` if the host has no address.
    package init(host: String, port: UInt16) throws(Errno) {
        (descriptor, self.port) = try Self.listen(host: host, port: port)
    }

    /// Hands over the socket, which the caller must close.
    package consuming func take() -> Int32 {
        let descriptor = descriptor
        discard self
        return descriptor
    }

    deinit { close(descriptor) }

    private static func listen(host: String, port: UInt16) throws(Errno) -> (descriptor: Int32, port: UInt16) {
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        hints.ai_family = host == "*" ? AF_INET : AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host == "*" ? nil : host, "\(port)", &hints, &list) == 0, let first = list?.pointee else {
            throw .addressNotAvailable
        }
        defer { freeaddrinfo(list) }
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(first.ai_family, type, 0)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        // A restarted program must be able to listen on the port that it used a moment ago.
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var bound = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &bound) { bound in
            bound.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard bind(descriptor, first.ai_addr, first.ai_addrlen) == 0,
                    Glibc.listen(descriptor, backlog) == 0, getsockname(descriptor, address, &length) == 0
                else { return errno }
                return 0
            }
        }
        guard result == 0 else {
            close(descriptor)
            throw Errno(rawValue: result)
        }
        // The port is at the same offset for IPv4 and IPv6.
        let port = withUnsafeBytes(of: bound) { $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self) }
        return (descriptor, UInt16(bigEndian: port))
    }
}
