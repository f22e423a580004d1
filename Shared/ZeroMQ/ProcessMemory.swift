import Glibc

/// What this process takes of the machine's memory.
package enum ProcessMemory {
    /// Bytes in memory now (proc(5), statm); 0 where the kernel does not say.
    package static var resident: Int {
        let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return 0 }
        defer { close(file) }
        return withUnsafeTemporaryAllocation(byteCount: 128, alignment: 1) { text in
            let count = read(file, text.baseAddress, text.count)
            guard count > 0 else { return 0 }
            let fields = text[..<count].split(separator: UInt8(ascii: " "))
            guard fields.count > 1, let pages = Int(String(decoding: fields[1], as: UTF8.self)) else { return 0 }
            return pages * sysconf(Int32(_SC_PAGESIZE))
        }
    }
}
