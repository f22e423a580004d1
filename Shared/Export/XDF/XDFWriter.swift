package import Messages

/// Makes the bytes of an XDF file (github.com/sccn/xdf, "Specifications"): chunks of headers, samples, clock offsets and footers.
///
/// Streams have the nominal rate 0: with any other rate, readers fit a line through a stream's times and move samples beside a
/// gap, pyxdf by up to seconds. Values are Float64 or strings. The writer holds one chunk of each stream in memory.
package struct XDFWriter {
    private enum Tag: UInt16 {
        case fileHeader = 1, streamHeader, samples, clockOffset, boundary, streamFooter
    }

    /// Readers search for these bytes to resume after damage.
    private static let boundary: [UInt8] = [
        0x43, 0xA5, 0x46, 0xDC, 0xCB, 0xF5, 0x41, 0x0F, 0xB3, 0x0E, 0xD5, 0x46, 0x73, 0x83, 0xCB, 0xE4,
    ]
    /// Bytes between two boundary chunks.
    private static let boundaryDistance = 4 << 20
    /// Size of a chunk of samples, in bytes.
    private static let chunkSize = 64 << 10

    /// The samples of a stream that are not in a chunk yet. A class, because a buffer can't be copied but a writer can.
    fileprivate final class Pending {
        var samples = ByteBuffer(capacity: XDFWriter.chunkSize + (8 << 10))
        var count = 0
    }

    package struct Stream {
        fileprivate let number: UInt32
        fileprivate let pending = Pending()
        fileprivate var first: Double?
        fileprivate var last: Double?
        fileprivate var count = 0
    }

    private var streams: UInt32 = 0
    private var sinceBoundary = 0

    package init(datetime: String, to output: inout ByteBuffer) {
        output.append(utf8: "XDF:")
        Self.chunk(.fileHeader, to: &output) { content in
            content.append(
                utf8:
                    "<?xml version=\"1.0\"?><info><version>1.0</version><datetime>\(Self.escaped(datetime))</datetime></info>"
            )
        }
    }

    ///
    /// - Parameters:
    /// - isText: whether the stream's values are strings.
    ///   - description: XML inside `<desc>`.
    package mutating func begin(
        name: String, type: String, channels: Int, isText: Bool, source: String, description: String,
        to output: inout ByteBuffer
    ) -> Stream {
        streams += 1
        let number = streams
        Self.chunk(.streamHeader, to: &output) { content in
            content.append(littleEndian: number)
            content.append(
                utf8: """
                    <?xml version="1.0"?><info><name>\(Self.escaped(name))</name><type>\(Self.escaped(type))</type>\
                    <channel_count>\(channels)</channel_count><nominal_srate>0</nominal_srate>\
                    <channel_format>\(isText ? "string" : "double64")</channel_format>\
                    <source_id>\(Self.escaped(source))</source_id><desc>\(description)</desc></info>
                    """)
        }
        return Stream(number: number)
    }

    /// Adds a sample.
    /// - Parameter body: appends the sample's values, Float64 or strings with their lengths.
    @inline(__always)
    package mutating func append(
        time: Double, to stream: inout Stream, output: inout ByteBuffer, _ body: (inout ByteBuffer) -> Void
    ) {
        stream.pending.samples.append(UInt8(8))
        stream.pending.samples.append(littleEndian: time)
        body(&stream.pending.samples)
        stream.pending.count += 1
        stream.count += 1
        if stream.first == nil { stream.first = time }
        stream.last = time
        if stream.pending.samples.count >= Self.chunkSize { flush(&stream, to: &output) }
    }

    @inline(never)
    private mutating func flush(_ stream: inout Stream, to output: inout ByteBuffer) {
        guard stream.pending.count > 0 else { return }
        let start = output.count
        let pending = stream.pending
        Self.chunk(.samples, to: &output) { content in
            content.append(littleEndian: stream.number)
            content.append(UInt8(4))
            content.append(littleEndian: UInt32(pending.count))
            pending.samples.withUnsafeBytes { content.append($0) }
        }
        pending.samples.removeAll()
        pending.count = 0
        sinceBoundary += output.count - start
        guard sinceBoundary >= Self.boundaryDistance else { return }
        sinceBoundary = 0
        Self.chunk(.boundary, to: &output) { $0.append(Self.boundary) }
    }

    /// Adds a clock offset in seconds, which readers add to the stream's times.
    package func appendOffset(_ offset: Double, at time: Double, of stream: Stream, to output: inout ByteBuffer) {
        Self.chunk(.clockOffset, to: &output) { content in
            content.append(littleEndian: stream.number)
            content.append(littleEndian: time)
            content.append(littleEndian: offset)
        }
    }

    /// Writes the remaining samples and the footer of a stream.
    package mutating func end(_ stream: inout Stream, to output: inout ByteBuffer) {
        flush(&stream, to: &output)
        func text(_ time: Double?) -> String {
            var buffer = ByteBuffer(capacity: 64)
            buffer.append(text: time ?? 0)
            return buffer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
        Self.chunk(.streamFooter, to: &output) { content in
            content.append(littleEndian: stream.number)
            content.append(
                utf8: """
                    <?xml version="1.0"?><info><first_timestamp>\(text(stream.first))</first_timestamp>\
                    <last_timestamp>\(text(stream.last))</last_timestamp>\
                    <sample_count>\(stream.count)</sample_count></info>
                    """)
        }
    }

    /// Appends a string value of a sample.
    package static func append(_ text: String, to buffer: inout ByteBuffer) {
        let count = text.utf8.count
        if count < 256 {
            buffer.append(UInt8(1))
            buffer.append(UInt8(count))
        } else {
            buffer.append(UInt8(4))
            buffer.append(littleEndian: UInt32(count))
        }
        buffer.append(utf8: text)
    }

    /// A text escaped for XML. Control characters, which XML does not allow, become the replacement character.
    package static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\t", "\n", "\r": result.unicodeScalars.append(scalar)
            case "\u{0}"..<" ", "\u{FFFE}", "\u{FFFF}": result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func chunk(_ tag: Tag, to output: inout ByteBuffer, _ body: (inout ByteBuffer) -> Void) {
        output.append(UInt8(4))
        let place = output.count
        output.append(littleEndian: UInt32(0))
        output.append(littleEndian: tag.rawValue)
        body(&output)
        output.put(littleEndian: UInt32(output.count - place - 4), at: place)
    }
}
