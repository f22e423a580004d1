import Glibc

/// What this machine, or this container, calls itself.
package enum HostName {
    /// The name, perhaps with its domain; nil if there is none.
    package static var current: String? {
        // HOST_NAME_MAX of limits.h is 64, and names of 255 are the longest that there can be.
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return nil }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
