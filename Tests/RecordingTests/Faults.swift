import Files
import Recording
import Synchronization
import SystemPackage
import Testing

/// Makes calls fail: the n-th of a kind, or every write beyond a maximum file size.
final class Faults: Sendable {
    enum Call: Int, CaseIterable, Sendable {
        case write, resize, sync, syncAll, rename
    }

    private let counts = Mutex([Call: Int]())

    /// The number of calls of a kind that were attempted.
    func count(of call: Call) -> Int { counts.withLock { $0[call] ?? 0 } }

    /// The number of calls that were attempted.
    var count: Int { counts.withLock { $0.values.reduce(0, +) } }

    private func next(_ call: Call) -> Int {
        counts.withLock { counts in
            counts[call, default: 0] += 1
            return counts[call] ?? 0
        }
    }

    /// The system's calls, each preceded by a check that may fail.
    private func calls(
        _ system: FileCalls = .system, checking check: @escaping @Sendable (Call) throws(Errno) -> Void
    ) -> FileCalls {
        var calls = system
        calls.write = { descriptor, bytes, offset throws(Errno) in
            try check(.write)
            return try system.write(descriptor, bytes, offset)
        }
        calls.resize = { descriptor, length throws(Errno) in
            try check(.resize)
            try system.resize(descriptor, length)
        }
        calls.sync = { descriptor throws(Errno) in
            try check(.sync)
            try system.sync(descriptor)
        }
        calls.syncAll = { descriptor throws(Errno) in
            try check(.syncAll)
            try system.syncAll(descriptor)
        }
        calls.rename = { old, new throws(Errno) in
            try check(.rename)
            try system.rename(old, new)
        }
        // These change directories as well.
        calls.link = { file, new throws(Errno) in
            try check(.rename)
            try system.link(file, new)
        }
        calls.exchange = { one, other throws(Errno) in
            try check(.rename)
            try system.exchange(one, other)
        }
        return calls
    }

    /// Counting calls, of which the n-th of one kind fails without effect.
    func failing(_ failing: Call? = nil, number: Int = .max, with errno: Errno = .ioError) -> FileCalls {
        calls { [self] call throws(Errno) in
            if next(call) == number, call == failing { throw errno }
        }
    }

    /// Makes each call of a kind fail in turn, each time in a new directory.
    /// - Parameter body: returns how many calls failed.
    /// - Returns: the number of runs, including the last one, in which nothing failed.
    static func each(_ call: Call, _ body: (Directory, FileCalls) throws -> Int) throws -> Int {
        var number = 0
        var isOver = false
        while !isOver {
            number += 1
            try withTemporaryDirectory { directory in
                let faults = Faults()
                let failures = try body(directory, faults.failing(call, number: number))
                isOver = faults.count(of: call) < number
                #expect(failures == (isOver ? 0 : 1))
            }
        }
        return number
    }

    /// Calls that all fail from a given number on, as if the program had been killed there.
    func cutOff(after number: Int) -> FileCalls {
        calls(.unsynced) { [self] call throws(Errno) in
            _ = next(call)
            if count > number { throw .ioError }
        }
    }

    /// Calls of which one write fails after some of its bytes were written.
    func failing(write number: Int, after bytes: Int, with errno: Errno = .ioError) -> FileCalls {
        if bytes == 0 { return failing(.write, number: number, with: errno) }
        var calls = FileCalls.system
        calls.write = { [self] descriptor, buffer, offset throws(Errno) in
            let count = next(.write)
            if count == number + 1 { throw errno }
            let part = count == number ? UnsafeRawBufferPointer(rebasing: buffer.prefix(bytes)) : buffer
            return try FileCalls.system.write(descriptor, part, offset)
        }
        return calls
    }

    /// A disk on which each file can have at most `capacity` bytes.
    static func disk(of capacity: Shared) -> FileCalls {
        var calls = FileCalls.system
        calls.write = { descriptor, buffer, offset throws(Errno) in
            let room = capacity.value - Int(offset)
            if room <= 0 { throw .noSpace }
            return try FileCalls.system.write(
                descriptor, UnsafeRawBufferPointer(rebasing: buffer.prefix(room)), offset)
        }
        return calls
    }

    /// Calls that write one byte at a time and fail with EINTR before each success.
    func stuttering() -> FileCalls {
        var calls = calls { [self] call throws(Errno) in
            if next(call) % 2 == 1 { throw .interrupted }
        }
        let write = calls.write
        calls.write = { descriptor, buffer, offset throws(Errno) in
            try write(descriptor, UnsafeRawBufferPointer(rebasing: buffer.prefix(1)), offset)
        }
        return calls
    }
}

extension FileCalls {
    /// Calls without the syncs, of which there would be thousands.
    static var unsynced: FileCalls {
        var calls = FileCalls.system
        calls.sync = { _ throws(Errno) in }
        calls.syncAll = { _ throws(Errno) in }
        return calls
    }
}
