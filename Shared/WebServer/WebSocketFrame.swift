/// Makes the frames that a WebSocket server sends: unmasked, each a whole message.
package enum WebSocketFrame {
    /// Appends the header of a frame with a binary message of `count` bytes, which the caller appends next.
    package static func beginBinary(_ count: Int, in buffer: inout [UInt8]) { begin(2, count, in: &buffer) }

    package static func text(_ text: [UInt8]) -> [UInt8] { frame(1, text) }

    package static func binary(_ body: [UInt8]) -> [UInt8] { frame(2, body) }

    package static func pong(_ body: [UInt8]) -> [UInt8] { frame(10, body) }

    /// Ends a connection.
    package static func close(code: UInt16) -> [UInt8] {
        frame(8, [UInt8(truncatingIfNeeded: code >> 8), UInt8(truncatingIfNeeded: code)])
    }

    private static func frame(_ code: UInt8, _ body: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.count + 10)
        begin(code, body.count, in: &bytes)
        return bytes + body
    }

    private static func begin(_ code: UInt8, _ count: Int, in buffer: inout [UInt8]) {
        buffer.append(128 | code)
        switch count {
        case ...125: buffer.append(UInt8(count))
        case ...0xFFFF:
            buffer.append(126)
            withUnsafeBytes(of: UInt16(count).bigEndian) { buffer += $0 }
        default:
            buffer.append(127)
            withUnsafeBytes(of: UInt64(count).bigEndian) { buffer += $0 }
        }
    }
}
