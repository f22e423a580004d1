import Glibc

/// Names and addresses of this machine or container.
package enum ThisMachine {
    /// The host name without its domain.
    package static var name: String { HostName.current.map { String($0.prefix { $0 != "." }) } ?? "localhost" }

    /// A part of the kernel's boot id, new at each start of the machine, like the clock of uptimes; the host name if
    /// unreadable.
    package static var boot: String {
        var text = [UInt8](repeating: 0, count: 8)
        let file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return name }
        defer { close(file) }
        return read(file, &text, text.count) == text.count ? String(decoding: text, as: UTF8.self) : name
    }

    /// The address of the network interface that leads to other networks, or else of the first one that is up.
    package static var address: String {
        if let address = addressTowardsOthers { return address }
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return "127.0.0.1" }
        defer { freeifaddrs(list) }
        var next = list
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard let address = entry.ifa_addr, address.pointee.sa_family == sa_family_t(AF_INET),
                entry.ifa_flags & UInt32(IFF_UP) != 0, entry.ifa_flags & UInt32(IFF_LOOPBACK) == 0
            else { continue }
            return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { text(of: $0.pointee.sin_addr) }
        }
        return "127.0.0.1"
    }

    /// A connected datagram socket has the address that it would send from; nothing is sent.
    private static var addressTowardsOthers: String? {
        let socket = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        guard socket >= 0 else { return nil }
        defer { close(socket) }
        var address = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(9).bigEndian
        // TEST-NET-1 of RFC 5737: on another network, and assigned to nobody.
        inet_pton(AF_INET, "192.0.2.1", &address.sin_addr)
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                connect(socket, pointer, size) == 0 && getsockname(socket, pointer, &size) == 0
            } ? text(of: pointer.pointee.sin_addr) : nil
        }
    }

    private static func text(of address: in_addr) -> String {
        let bytes = withUnsafeBytes(of: address.s_addr) { Array($0) }
        return bytes.map(String.init).joined(separator: ".")
    }
}
