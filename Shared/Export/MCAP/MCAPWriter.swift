import Compression
package import Messages

/// Makes the bytes of an MCAP file (mcap.dev/spec): messages in chunks, an index of them, and a summary that lets a viewer open a
/// large file at once.
///
/// Appends to a buffer that the caller writes to the file. Holds one chunk in memory, and some index bytes for each chunk.
package struct MCAPWriter {
    package static let magic: [UInt8] = [0x89, 0x4D, 0x43, 0x41, 0x50, 0x30, 0x0D, 0x0A]

    private enum Opcode: UInt8 {
        case header = 0x01, footer, schema, channel, message, chunk, messageIndex, chunkIndex
        case statistics = 0x0B, metadata, metadataIndex, summaryOffset, dataEnd
    }

    /// Size of a chunk before compression, in bytes.
    private static let chunkSize = 1 << 20

    /// The positions of a channel's messages in the chunk: time and offset of each, as written to the file.
    private struct Channel {
        var index: [(time: UInt64, offset: UInt64)] = []
        var messages: UInt64 = 0
    }

    /// Bytes before a message: opcode, length, channel, sequence and two times.
    private static let messageHeader = 31

    /// The memory of a chunk. A class, because a buffer can't be copied but a writer can.
    private final class Chunk {
        var records = ByteBuffer(capacity: MCAPWriter.chunkSize + (64 << 10))
        var lz4 = LZ4()
        /// Summary records, by kind.
        var schemas = ByteBuffer(capacity: 4 << 10)
        var channels = ByteBuffer(capacity: 4 << 10)
        var indexes = ByteBuffer(capacity: 4 << 10)
        var metadataIndexes = ByteBuffer(capacity: 256)
    }

    private let chunk = Chunk()
    private var channels: [Channel] = []
    private var schemas: UInt16 = 0
    private var chunks: UInt32 = 0
    private var metadata: UInt32 = 0
    /// The times of the chunk's messages, and of all messages.
    private var times: ClosedRange<UInt64>?
    private var allTimes: ClosedRange<UInt64>?

    /// Begins a file.
    /// - Parameter library: the name and version of the program.
    package init(profile: String, library: String, to output: inout ByteBuffer) {
        output.append(Self.magic)
        Self.record(.header, to: &output) { content in
            content.append(string: profile)
            content.append(string: library)
        }
    }

    // MARK: Data

    /// Adds a schema.
    /// - Returns: the schema's number.
    package mutating func addSchema(
        _ name: String, encoding: String, _ text: String, to output: inout ByteBuffer
    ) -> UInt16 {
        schemas += 1
        let start = output.count
        Self.record(.schema, to: &output) { content in
            content.append(littleEndian: schemas)
            content.append(string: name)
            content.append(string: encoding)
            content.append(string: text)
        }
        output.withUnsafeBytes { chunk.schemas.append(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        return schemas
    }

    /// Adds a channel.
    /// - Parameter metadata: sorted by key.
    /// - Returns: the channel's number.
    package mutating func addChannel(
        _ topic: String, schema: UInt16, encoding: String, metadata: [(String, String)] = [],
        to output: inout ByteBuffer
    ) -> Int {
        channels.append(Channel())
        let start = output.count
        Self.record(.channel, to: &output) { content in
            content.append(littleEndian: UInt16(channels.count - 1))
            content.append(littleEndian: schema)
            content.append(string: topic)
            content.append(string: encoding)
            content.append(map: metadata)
        }
        output.withUnsafeBytes { chunk.channels.append(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        return channels.count - 1
    }

    /// Adds a message to the chunk, and the chunk to the output if it is full.
    ///
    /// - Parameters:
    /// - position: the length of the file before the buffer.
    ///   - time: in nanoseconds; used as log time and publish time.
    ///   - body: appends the message.
    @inline(__always)
    package mutating func append(
        channel: Int, sequence: UInt32, time: UInt64, to output: inout ByteBuffer, at position: Int,
        _ body: (inout ByteBuffer) -> Void
    ) {
        let chunk = chunk
        let start = chunk.records.count
        chunk.records.withUnsafeMutableTail(reserving: Self.messageHeader) { header in
            let header = UnsafeMutableRawPointer(header)
            header.storeBytes(of: Opcode.message.rawValue, as: UInt8.self)
            header.storeBytes(of: UInt16(truncatingIfNeeded: channel).littleEndian, toByteOffset: 9, as: UInt16.self)
            header.storeBytes(of: sequence.littleEndian, toByteOffset: 11, as: UInt32.self)
            header.storeBytes(of: time.littleEndian, toByteOffset: 15, as: UInt64.self)
            header.storeBytes(of: time.littleEndian, toByteOffset: 23, as: UInt64.self)
            return Self.messageHeader
        }
        body(&chunk.records)
        chunk.records.put(littleEndian: UInt64(chunk.records.count - start - 9), at: start + 1)
        channels[channel].index.append((time.littleEndian, UInt64(start).littleEndian))
        times = times.map { min($0.lowerBound, time)...max($0.upperBound, time) } ?? time...time
        if chunk.records.count >= Self.chunkSize { endChunk(to: &output, at: position) }
    }

    /// Appends the chunk to the output.
    @inline(never)
    private mutating func endChunk(to output: inout ByteBuffer, at position: Int) {
        guard let times else { return }
        let start = position + output.count
        let size = chunk.records.count
        let checksum = chunk.records.withUnsafeBytes { Checksum.crc32($0) }
        var compressed = 0
        Self.record(.chunk, to: &output) { content in
            content.append(littleEndian: times.lowerBound)
            content.append(littleEndian: times.upperBound)
            content.append(littleEndian: UInt64(size))
            content.append(littleEndian: checksum)
            content.append(string: "lz4")
            let place = content.count
            content.append(littleEndian: UInt64(0))
            content.withUnsafeMutableTail(reserving: LZ4.maximumSize(of: size)) { tail in
                compressed = chunk.records.withUnsafeBytes { chunk.lz4.compress($0, to: UnsafeMutableRawPointer(tail)) }
                return compressed
            }
            content.put(littleEndian: UInt64(compressed), at: place)
        }
        let length = position + output.count - start
        var offsets: [(channel: UInt16, offset: UInt64)] = []
        let indexStart = position + output.count
        for number in channels.indices where !channels[number].index.isEmpty {
            offsets.append((UInt16(number), UInt64(position + output.count)))
            Self.record(.messageIndex, to: &output) { content in
                content.append(littleEndian: UInt16(number))
                content.append(littleEndian: UInt32(channels[number].index.count * 16))
                channels[number].index.withUnsafeBytes { content.append($0) }
            }
            channels[number].messages += UInt64(channels[number].index.count)
            // Without its memory: of thousands of streams, only one is written at a time.
            channels[number].index = []
        }
        Self.record(.chunkIndex, to: &chunk.indexes) { content in
            content.append(littleEndian: times.lowerBound)
            content.append(littleEndian: times.upperBound)
            content.append(littleEndian: UInt64(start))
            content.append(littleEndian: UInt64(length))
            content.append(littleEndian: UInt32(offsets.count * 10))
            for (channel, offset) in offsets {
                content.append(littleEndian: channel)
                content.append(littleEndian: offset)
            }
            content.append(littleEndian: UInt64(position + output.count - indexStart))
            content.append(string: "lz4")
            content.append(littleEndian: UInt64(compressed))
            content.append(littleEndian: UInt64(size))
        }
        chunks += 1
        allTimes =
            allTimes.map { min($0.lowerBound, times.lowerBound)...max($0.upperBound, times.upperBound) } ?? times
        self.times = nil
        chunk.records.removeAll()
    }

    /// Adds metadata about the whole file.
    /// - Parameter entries: sorted by key.
    package mutating func addMetadata(
        _ name: String, _ entries: [(String, String)], to output: inout ByteBuffer, at position: Int
    ) {
        let start = output.count
        Self.record(.metadata, to: &output) { content in
            content.append(string: name)
            content.append(map: entries)
        }
        metadata += 1
        Self.record(.metadataIndex, to: &chunk.metadataIndexes) { content in
            content.append(littleEndian: UInt64(position + start))
            content.append(littleEndian: UInt64(output.count - start))
            content.append(string: name)
        }
    }

    /// Writes the last chunk and the summary.
    package mutating func finish(to output: inout ByteBuffer, at position: Int) {
        endChunk(to: &output, at: position)
        Self.record(.dataEnd, to: &output) { $0.append(littleEndian: UInt32(0)) }

        let summary = output.count
        var offsets: [(opcode: Opcode, start: Int, length: Int)] = []
        func add(_ opcode: Opcode, _ body: (inout ByteBuffer) -> Void) {
            let start = output.count
            body(&output)
            if output.count > start { offsets.append((opcode, start, output.count - start)) }
        }
        add(.schema) { output in chunk.schemas.withUnsafeBytes { output.append($0) } }
        add(.channel) { output in chunk.channels.withUnsafeBytes { output.append($0) } }
        add(.statistics) { output in
            Self.record(.statistics, to: &output) { content in
                content.append(littleEndian: channels.reduce(0) { $0 + $1.messages })
                content.append(littleEndian: schemas)
                content.append(littleEndian: UInt32(channels.count))
                content.append(littleEndian: UInt32(0))
                content.append(littleEndian: metadata)
                content.append(littleEndian: chunks)
                content.append(littleEndian: allTimes?.lowerBound ?? 0)
                content.append(littleEndian: allTimes?.upperBound ?? 0)
                content.append(littleEndian: UInt32(channels.count * 10))
                for (number, channel) in channels.enumerated() {
                    content.append(littleEndian: UInt16(number))
                    content.append(littleEndian: channel.messages)
                }
            }
        }
        add(.chunkIndex) { output in chunk.indexes.withUnsafeBytes { output.append($0) } }
        add(.metadataIndex) { output in chunk.metadataIndexes.withUnsafeBytes { output.append($0) } }
        let offsetStart = output.count
        for (opcode, start, length) in offsets {
            Self.record(.summaryOffset, to: &output) { content in
                content.append(opcode.rawValue)
                content.append(littleEndian: UInt64(position + start))
                content.append(littleEndian: UInt64(length))
            }
        }
        output.append(Opcode.footer.rawValue)
        output.append(littleEndian: UInt64(20))
        output.append(littleEndian: UInt64(position + summary))
        output.append(littleEndian: UInt64(position + offsetStart))
        output.append(
            littleEndian: output.withUnsafeBytes { Checksum.crc32(UnsafeRawBufferPointer(rebasing: $0[summary...])) })
        output.append(Self.magic)
    }

    @inline(__always)
    private static func record(
        _ opcode: Opcode, to output: inout ByteBuffer, _ body: (inout ByteBuffer) -> Void
    ) {
        output.append(opcode.rawValue)
        let place = output.count
        output.append(littleEndian: UInt64(0))
        body(&output)
        output.put(littleEndian: UInt64(output.count - place - 8), at: place)
    }
}

extension ByteBuffer {
    fileprivate mutating func append(string: String) {
        append(littleEndian: UInt32(string.utf8.count))
        append(utf8: string)
    }

    fileprivate mutating func append(map: [(String, String)]) {
        let place = count
        append(littleEndian: UInt32(0))
        for (key, value) in map {
            append(string: key)
            append(string: value)
        }
        put(littleEndian: UInt32(count - place - 4), at: place)
    }
}
