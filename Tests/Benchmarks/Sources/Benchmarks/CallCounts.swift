import FoundationEssentials
import Glibc

/// A program's calls that write and sync files, counted by a preloaded library (`CallCounter.c`).
struct CallCounts {
    let syncs: UInt64
    let writes: UInt64
    let bytes: UInt64
    /// Nanoseconds spent in syncs.
    let syncTime: UInt64

    private static let size = 4 * MemoryLayout<UInt64>.size

    /// The environment of a program whose calls are counted in a new file.
    /// - Returns: nil if the library was not built: `swift build` builds it, `swift run` alone does not.
    static func environment(countingIn file: String) throws -> [String: String]? {
        let this = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let directory = this.split(separator: "/").dropLast().joined(separator: "/")
        let library = "/\(directory)/libCallCounter.so"
        guard FileManager.default.fileExists(atPath: library) else { return nil }
        try Data(count: size).write(to: URL(filePath: file))
        return ["LD_PRELOAD": library, "CALL_COUNTER_FILE": file]
    }

    init(at file: String) throws {
        let data = try Data(contentsOf: URL(filePath: file))
        guard data.count == Self.size else { throw Child.Failure(description: "\(file) has no counts") }
        let counts = data.withUnsafeBytes { bytes in
            (0..<4).map { bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self) }
        }
        (syncs, writes, bytes, syncTime) = (counts[0], counts[1], counts[2], counts[3])
    }
}
