/// Parses the bytes that a WebSocket client sends (RFC 6455), as they arrive.
package struct WebSocketReader: Sendable {
    /// A whole message, or a control frame.
    package enum Message: Hashable, Sendable {
        case text([UInt8])
        case binary([UInt8])
        case ping([UInt8])
        case close
    }

    /// A violation of the protocol or a limit, which ends the connection.
    package struct Fault: Error, Hashable {
        /// The status code of the close frame.
        package let code: UInt16

        package init(code: UInt16) { self.code = code }
    }

    /// Limit of a message's bytes; a longer message ends the connection.
    private let limit: Int
    private var bytes: [UInt8] = []
    /// The fragments of an incomplete message, and whether it is text; nil between messages.
    private var parts: (isText: Bool, bytes: [UInt8])?

    package init(limit: Int) { self.limit = limit }

    /// Appends received bytes.
    package mutating func append(_ new: UnsafeRawBufferPointer) { bytes += new }

    /// The next message; nil if none is complete.
    package mutating func next() throws(Fault) -> Message? {
        while let frame = try nextFrame() {
            switch (frame.code, frame.isLast) {
            case (0, _):
                guard var whole = parts else { throw Fault(code: 1_002) }
                parts = nil
                guard whole.bytes.count + frame.body.count <= limit else { throw Fault(code: 1_009) }
                whole.bytes += frame.body
                if frame.isLast { return whole.isText ? .text(whole.bytes) : .binary(whole.bytes) }
                parts = whole
            case (1...2, let isLast):
                guard parts == nil else { throw Fault(code: 1_002) }
                let isText = frame.code == 1
                if isLast { return isText ? .text(frame.body) : .binary(frame.body) }
                parts = (isText, frame.body)
            case (8, true): return .close
            case (9, true): return .ping(frame.body)
            case (10, true): continue
            default: throw Fault(code: 1_002)
            }
        }
        return nil
    }

    private mutating func nextFrame() throws(Fault) -> (code: UInt8, isLast: Bool, body: [UInt8])? {
        guard bytes.count >= 2 else { return nil }
        let (code, isLast) = (bytes[0] & 15, bytes[0] & 128 != 0)
        // Without extensions, the reserved bits are 0. Frames from a client are masked.
        guard bytes[0] & 112 == 0, bytes[1] & 128 != 0 else { throw Fault(code: 1_002) }
        let short = Int(bytes[1] & 127)
        let size = short == 126 ? 2 : short == 127 ? 8 : 0
        guard code < 8 || short <= 125 else { throw Fault(code: 1_002) }
        guard bytes.count >= 2 + size else { return nil }
        let count = size == 0 ? UInt64(short) : bytes[2..<2 + size].reduce(0) { $0 << 8 | UInt64($1) }
        guard count <= UInt64(limit) else { throw Fault(code: 1_009) }
        let start = 2 + size + 4
        let end = start + Int(count)
        guard bytes.count >= end else { return nil }
        let mask = Array(bytes[start - 4..<start])
        let body = bytes[start..<end].enumerated().map { $0.element ^ mask[$0.offset & 3] }
        bytes.removeFirst(end)
        return (code, isLast, body)
    }
}
