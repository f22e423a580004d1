import Compression
import Files
import Messages

/// The data that one commit writes to the write-ahead log: a header, and frames after it.
///
/// | bytes | header |
/// | --- | --- |
/// | 4 | `HFW1` |
/// | 4 | CRC-32C of everything after it |
/// | 8 | length of the block in bytes, a multiple of 8 |
/// | 8 | position: the block's place in the log, counted from the log's first byte |
/// | 8 | the position before which everything was synced when the block was written |
///
/// A frame has 16 bytes before its contents: 1 for its kind, 3 that are 0, 4 for the number of its session or stream, 8 for the
/// length of the contents. Numbers are little-endian. A block is valid if its checksum matches and its position is its place. So
/// neither a torn block nor an old block in the place of a new one is ever taken for valid.
package final class LogBlock: Sendable {
    static let magic: UInt32 = 0x3157_4648
    static let headerLength = 32
    static let frameHeaderLength = 16
    /// A block that claims to be longer is invalid.
    static let maximumLength = 1 << 30

    /// The header, without checksum and synced position until the block is written, and the frames.
    private let bytes: ByteBuffer
    package let position: Int
    /// The position at which the segment of this block begins.
    package let segment: Int

    init(_ bytes: consuming ByteBuffer, position: Int, segment: Int) {
        self.bytes = bytes
        self.position = position
        self.segment = segment
    }

    package var count: Int { bytes.count }

    /// The position after the block.
    package var end: Int { position + count }

    /// Lends the header to be written, and the frames.
    func withBytes<Result>(
        synced: Int, _ body: (_ header: [UInt8], _ frames: UnsafeRawBufferPointer) throws(RecordingError) -> Result
    ) throws(RecordingError) -> Result {
        try bytes.withUnsafeBytes { bytes throws(RecordingError) in
            let frames = UnsafeRawBufferPointer(rebasing: bytes[Self.headerLength...])
            var tail: [UInt8] = []
            for number in [bytes.count, position, synced] {
                withUnsafeBytes(of: Int64(number).littleEndian) { tail += $0 }
            }
            let checksum = Self.checksum(frames, after: tail.withUnsafeBytes { Self.checksum($0) })
            var header: [UInt8] = []
            for number in [Self.magic, checksum] { withUnsafeBytes(of: number.littleEndian) { header += $0 } }
            return try body(header + tail, frames)
        }
    }

    /// Lends each frame in turn.
    package func forEachFrame(_ body: (LogFrame) -> Void) {
        bytes.withUnsafeBytes { LogFrame.forEach(in: $0, at: position, body) }
    }

    /// CRC-32C, as defined in RFC 3720.
    static func checksum(_ bytes: UnsafeRawBufferPointer, after checksum: UInt32 = .max) -> UInt32 {
        Checksum.crc32c(bytes, after: checksum)
    }
}

/// A frame of a block, lent.
package struct LogFrame {
    /// The position of its block.
    package let position: Int
    let kind: FrameKind
    /// The number of its session or stream.
    package let number: UInt32
    let contents: UnsafeRawBufferPointer

    /// Lends each frame of a block, header included, in turn. Frames of kinds from later versions are skipped.
    static func forEach(in block: UnsafeRawBufferPointer, at position: Int, _ body: (LogFrame) -> Void) {
        var place = LogBlock.headerLength
        while place + LogBlock.frameHeaderLength <= block.count {
            let number = UInt32(littleEndian: block.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self))
            let length = Int(
                truncatingIfNeeded: UInt64(
                    littleEndian: block.loadUnaligned(fromByteOffset: place + 8, as: UInt64.self)))
            let start = place + LogBlock.frameHeaderLength
            guard length >= 0, length <= block.count - start else { return }
            if let kind = FrameKind(rawValue: block[place]) {
                body(
                    LogFrame(
                        position: position, kind: kind, number: number,
                        contents: UnsafeRawBufferPointer(rebasing: block[start..<(start + length)])))
            }
            place = start + length
        }
    }

    /// The session and stream of the frame's number, if this is a frame of kind `name`.
    package var name: (session: SessionIdentifier, log: LogName?)? {
        guard kind == .name else { return nil }
        let parts = contents.split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard let session = try? SessionIdentifier(parts[0]) else { return nil }
        if parts.count == 1 { return (session, nil) }
        return LogName(existing: parts[1]).map { (session, $0) }
    }

    /// The frame's event; nil if it has none.
    package var event: LoggedEvent? {
        let head = 16
        guard kind == .event, contents.count >= head else { return nil }
        func length(_ index: Int) -> Int {
            Int(UInt32(littleEndian: contents.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self)))
        }
        let ends = [length(0), length(1), length(2)].reduce(into: [head]) { $0.append($0[$0.count - 1] + $1) }
        guard ends[3] <= contents.count else { return nil }
        func part(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: contents[range]) }
        return LoggedEvent(
            topic: part(ends[0]..<ends[1]), body: part(ends[1]..<ends[2]), time: part(ends[2]..<ends[3]),
            packed: ends[3] < contents.count ? part(ends[3]..<contents.count) : nil)
    }

    /// Whether the frame completes its stream's file.
    package var endsFile: Bool { kind == .seal }

    /// The contents as JSON; nil if they can't be read.
    func decode<Value: Decodable>(_ type: Value.Type) -> Value? {
        try? WireCoding.decode(type, from: contents)
    }
}

/// An event as it arrived, lent.
package struct LoggedEvent {
    package let topic: UnsafeRawBufferPointer
    package let body: UnsafeRawBufferPointer
    package let time: UnsafeRawBufferPointer
    package let packed: UnsafeRawBufferPointer?
}
