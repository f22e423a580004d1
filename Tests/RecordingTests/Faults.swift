import Recording
import Synchronization
import SystemPackage

/// Makes calls fail: the n-th write, or every write beyond a file's largest size.
final class Faults: Sendable {
    private let writes = Atomic<Int>(0)

    /// How many writes were tried.
    var writeCount: Int { writes.load(ordering: .relaxed) }

    /// Calls of which one write fails, after some of its bytes have been written.
    func failing(write number: Int, after bytes: Int = 0, with errno: Errno = .ioError) -> FileCalls {
        FileCalls(
            write: { [self] descriptor, buffer, offset throws(Errno) in
                let count = writes.add(1, ordering: .relaxed).newValue
                guard count >= number, count <= number + (bytes > 0 ? 1 : 0) else {
                    return try FileCalls.system.write(descriptor, buffer, offset)
                }
                if bytes == 0 || count > number { throw errno }
                let part = UnsafeRawBufferPointer(rebasing: buffer.prefix(bytes))
                return try FileCalls.system.write(descriptor, part, offset)
            },
            resize: FileCalls.system.resize)
    }

    /// A disk on which a file can have so many bytes.
    static func disk(of capacity: Shared) -> FileCalls {
        FileCalls(
            write: { descriptor, buffer, offset throws(Errno) in
                let room = capacity.value - Int(offset)
                if room <= 0 { throw .noSpace }
                return try FileCalls.system.write(
                    descriptor, UnsafeRawBufferPointer(rebasing: buffer.prefix(room)), offset)
            },
            resize: FileCalls.system.resize)
    }

    /// Calls that write one byte at a time and are interrupted before each.
    func stuttering() -> FileCalls {
        FileCalls(
            write: { [self] descriptor, buffer, offset throws(Errno) in
                if writes.add(1, ordering: .relaxed).newValue % 2 == 1 { throw .interrupted }
                return try FileCalls.system.write(
                    descriptor, UnsafeRawBufferPointer(rebasing: buffer.prefix(1)), offset)
            },
            resize: FileCalls.system.resize)
    }
}
