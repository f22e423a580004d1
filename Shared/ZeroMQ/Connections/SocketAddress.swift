import Glibc

/// One end of a connection.
struct SocketAddress: Hashable, Sendable {
    /// The numeric address; `local` for a socket in this machine's file system.
    let host: String
    /// The port; nil if the address has none.
    let port: UInt16?

    /// Reads the address with getsockname(2) or getpeername(2). Nil if the descriptor is not a connection.
    init?(
        of descriptor: Int32,
        _ name: (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32
    ) {
        var storage = sockaddr_storage()
        let found = withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> (String, UInt16?)? in
                var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
                guard name(descriptor, address, &size) == 0 else { return nil }
                guard address.pointee.sa_family != sa_family_t(AF_UNIX) else { return ("local", nil) }
                return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
                    let (host, service) = (text.baseAddress, text.baseAddress.map { $0 + 96 })
                    guard getnameinfo(address, size, host, 96, service, 32, NI_NUMERICHOST | NI_NUMERICSERV) == 0,
                        let host, let service
                    else { return nil }
                    return (String(cString: host), UInt16(String(cString: service)))
                }
            }
        }
        guard let found else { return nil }
        (host, port) = found
    }
}
