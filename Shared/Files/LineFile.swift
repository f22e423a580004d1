import SystemPackage

/// A file to which whole lines are appended. A line that a power cut left incomplete is never read, and is removed before the
/// next one is appended. Several programs may append lines.
package struct LineFile: Sendable {
    private let directory: Directory
    private let name: String

    package init(_ name: String, in directory: Directory) {
        self.directory = directory
        self.name = name
    }

    /// The lines, without their ends; none if the file does not exist.
    package func lines() throws(RecordingError) -> [ArraySlice<UInt8>] {
        guard directory.contains(name) else { return [] }
        return Self.lines(in: try directory.read(name))
    }

    /// The lines in the bytes of such a file, without their ends.
    package static func lines(in bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        let whole = bytes[..<(bytes.lastIndex(of: UInt8(ascii: "\n")) ?? 0)]
        return whole.split(separator: UInt8(ascii: "\n"))
    }

    /// Appends lines. When this returns, they would survive a power cut.
    ///
    /// - Throws: `noSpace`, `notPermitted` or `inputOutput`; the file is then unchanged.
    package func append(_ lines: [[UInt8]], calls: FileCalls = .system) throws(RecordingError) {
        if lines.isEmpty { return }
        let file = try OpenFile(openingOrCreating: directory.path.appending(name), calls: calls)
        try file.lockExclusively()
        let length = try Self.wholeLength(of: file)
        if try file.byteCount() > length { try file.resize(to: Int64(length)) }
        do throws(RecordingError) {
            try file.write(lines.flatMap { $0 + [UInt8(ascii: "\n")] }, at: Int64(length))
            try file.sync()
        } catch {
            try? file.resize(to: Int64(length))
            throw error
        }
    }

    /// The end of the last complete line in a file.
    private static func wholeLength(of file: OpenFile) throws(RecordingError) -> Int {
        let pieceSize = 4 << 10
        var end = Int(try file.byteCount())
        while end > 0 {
            let start = max(0, end - pieceSize)
            let piece = try file.bytes(in: start..<end)
            if let index = piece.lastIndex(of: UInt8(ascii: "\n")) { return start + index + 1 }
            end = start
        }
        return 0
    }
}
