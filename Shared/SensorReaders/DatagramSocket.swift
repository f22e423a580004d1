import Glibc
package import SystemPackage

/// A socket that receives datagrams.
package final class DatagramSocket: Sendable {
    /// The size of the largest IPv4 datagram, and one byte more.
    private static let largest = 65_508
    /// The requested receive buffer in bytes; the kernel limits it to `net.core.rmem_max`.
    private static let kept: Int32 = 8 << 20
    /// SO_RXQ_OVFL of asm-generic/socket.h: each datagram has the number of datagrams dropped before it.
    private static let overflow: Int32 = 40

    package let descriptor: Int32
    package let port: UInt16

    /// - Parameters:
    ///   - host: a name or an address of this machine, or `*` for all its IPv4 addresses.
    ///   - port: 0 for any free port.
    /// - Throws: the error of bind(2); `addressNotAvailable` if the host has no address.
    package init(host: String, port: UInt16) throws(Errno) {
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        hints.ai_family = host == "*" ? AF_INET : AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host == "*" ? nil : host, "\(port)", &hints, &list) == 0, let first = list?.pointee else {
            throw .addressNotAvailable
        }
        defer { freeaddrinfo(list) }
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(first.ai_family, type, 0)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        for (name, value) in [(SO_RCVBUF, Self.kept), (Self.overflow, 1)] {
            var value = value
            setsockopt(descriptor, SOL_SOCKET, name, &value, socklen_t(MemoryLayout<Int32>.size))
        }
        var bound = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &bound) { bound in
            bound.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, first.ai_addr, first.ai_addrlen) == 0 && getsockname(descriptor, address, &length) == 0
                    ? 0 : errno
            }
        }
        guard result == 0 else {
            close(descriptor)
            throw Errno(rawValue: result)
        }
        // IPv4 and IPv6 addresses have the port in the same place.
        let port = withUnsafeBytes(of: bound) { $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self) }
        self.descriptor = descriptor
        self.port = UInt16(bigEndian: port)
    }

    deinit { close(descriptor) }

    package struct Received {
        package var bytes: [UInt8]
        /// The sender's address, without its port.
        package var source: String
        /// The number of datagrams dropped by the kernel so far, if it reports one.
        package var dropped: Int?
    }

    /// The next datagram; nil if none waits.
    /// - Throws: the error of recvmsg(2).
    package func receive() throws(Errno) -> Received? {
        var from = sockaddr_storage()
        var control = [UInt8](repeating: 0, count: 64)
        var header = msghdr()
        var controlLength = 0
        var count = 0
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.largest) { buffer, initialized in
            var part = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
            control.withUnsafeMutableBytes { control in
                withUnsafeMutablePointer(to: &from) { from in
                    withUnsafeMutablePointer(to: &part) { part in
                        header.msg_name = UnsafeMutableRawPointer(from)
                        header.msg_namelen = socklen_t(MemoryLayout<sockaddr_storage>.size)
                        header.msg_iov = part
                        header.msg_iovlen = 1
                        header.msg_control = control.baseAddress
                        header.msg_controllen = control.count
                        count = recvmsg(descriptor, &header, 0)
                        failure = errno
                        controlLength = header.msg_controllen
                    }
                }
            }
            initialized = max(0, count)
        }
        guard count >= 0 else {
            if failure == EAGAIN || failure == EINTR { return nil }
            throw Errno(rawValue: failure)
        }
        return Received(
            bytes: bytes, source: Self.text(of: &from), dropped: Self.dropped(control.prefix(controlLength)))
    }

    /// Reads a control message as described in cmsg(3): its length of 8 bytes, level and type of 4 bytes each, and the count.
    private static func dropped(_ control: ArraySlice<UInt8>) -> Int? {
        control.withUnsafeBytes { bytes in
            guard bytes.count >= 20, bytes.loadUnaligned(fromByteOffset: 8, as: Int32.self) == SOL_SOCKET,
                bytes.loadUnaligned(fromByteOffset: 12, as: Int32.self) == overflow
            else { return nil }
            return Int(bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
        }
    }

    private static func text(of address: inout sockaddr_storage) -> String {
        var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let size = socklen_t(
            address.ss_family == sa_family_t(AF_INET6)
                ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getnameinfo($0, size, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST)
            }
        }
        let text = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return result == 0 ? text : "unknown"
    }
}
