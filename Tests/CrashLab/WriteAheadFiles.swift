import FoundationEssentials
import SystemPackage

/// The files of a recorder's write-ahead log, as read from outside.
struct WriteAheadFiles {
    struct Segment {
        let name: String
        let bytes: [UInt8]

        /// The segment's position in the log, from its name.
        var position: Int { Int(name.dropLast(4), radix: 16) ?? 0 }

        /// The ranges of the segment's blocks: each block has its length at offset 8.
        var blocks: [Range<Int>] {
            var blocks: [Range<Int>] = []
            var place = 0
            while place + 16 <= bytes.count {
                let length = bytes[place + 8..<place + 16].reversed().reduce(0) { $0 << 8 | UInt64($1) }
                guard length >= 32, length <= UInt64(bytes.count - place) else { break }
                blocks.append(place..<place + Int(length))
                place += Int(length)
            }
            return blocks
        }
    }

    /// The segments in order.
    let segments: [Segment]

    /// Reads the segments of a data directory.
    /// - Throws: if they can't be read, or other files are there.
    init(_ data: FilePath) throws {
        let directory = Self.directory(beside: data.appending("recordings"))
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.string).sorted()
        segments = try names.map { name in
            guard name.hasSuffix(".wal"), name.count == 20 else { throw Violation("\(name) is in \(directory)") }
            return Segment(
                name: name, bytes: try Array(Data(contentsOf: URL(filePath: directory.appending(name).string))))
        }
    }

    /// The log's directory, beside the sessions.
    static func directory(beside recordings: FilePath) -> FilePath { recordings.appending(".wal") }

    /// Writes a segment of a copied log.
    static func write(_ bytes: [UInt8], named name: String, beside recordings: FilePath) throws {
        let directory = directory(beside: recordings)
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(filePath: directory.appending(name).string))
    }
}
