import Glibc

/// The host name of this machine or container.
package enum HostName {
    /// The name, with its domain if the system has it so; nil if there is none.
    package static var current: String? {
        // HOST_NAME_MAX of limits.h is 64; names have at most 255 bytes.
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return nil }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
