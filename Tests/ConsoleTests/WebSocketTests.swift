import TestSupport
import Testing
import WebServer

/// Messages from and to a WebSocket client.
struct WebSocketTests {
    /// A masked frame, as a client sends it.
    private static func frame(_ code: UInt8, _ body: [UInt8], isLast: Bool = true) -> [UInt8] {
        var bytes = [(isLast ? 128 : 0) | code]
        switch body.count {
        case ...125: bytes.append(128 | UInt8(body.count))
        case ...0xFFFF: bytes += [128 | 126, UInt8(body.count >> 8), UInt8(body.count & 255)]
        default: bytes += [128 | 127] + (0..<8).map { UInt8(body.count >> (56 - 8 * $0) & 255) }
        }
        let mask: [UInt8] = [1, 2, 3, 250]
        return bytes + mask + body.enumerated().map { $0.element ^ mask[$0.offset % 4] }
    }

    /// The messages that a reader finds in bytes that arrive in pieces.
    private static func messages(
        _ bytes: [UInt8], piece: Int = .max
    ) throws(WebSocketReader.Fault) -> [WebSocketReader.Message] {
        var reader = WebSocketReader(limit: 100_000)
        var messages: [WebSocketReader.Message] = []
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, start + min(piece, bytes.count))
            bytes[start..<end].withUnsafeBytes { reader.append($0) }
            while let message = try reader.next() { messages.append(message) }
            start = end
        }
        return messages
    }

    @Test(arguments: [1, 2, 7, 1_000, Int.max])
    func messagesAreReadHoweverTheyCome(piece: Int) throws {
        let long = [UInt8](repeating: 7, count: 70_000)
        let bytes =
            Self.frame(1, Array("hello".utf8)) + Self.frame(2, long) + Self.frame(9, [1, 2])
            + Self.frame(1, Array("a".utf8), isLast: false) + Self.frame(9, []) + Self.frame(0, [], isLast: false)
            + Self.frame(0, Array("b".utf8)) + Self.frame(10, [3]) + Self.frame(2, [UInt8](repeating: 1, count: 200))
            + Self.frame(8, [3, 232])
        #expect(
            try Self.messages(bytes, piece: piece) == [
                .text(Array("hello".utf8)), .binary(long), .ping([1, 2]), .ping([]), .text(Array("ab".utf8)),
                .binary([UInt8](repeating: 1, count: 200)), .close,
            ])
    }

    @Test func whatNoClientMaySendEndsIt() {
        let text = Array("x".utf8)
        var unmasked = Self.frame(1, text)
        unmasked[1] &= 127
        var reserved = Self.frame(1, text)
        reserved[0] |= 64
        for (bytes, code) in [
            (unmasked, 1_002), (reserved, 1_002), (Self.frame(0, text), 1_002), (Self.frame(3, text), 1_002),
            (Self.frame(11, text), 1_002), (Self.frame(9, text, isLast: false), 1_002),
            (Self.frame(9, [UInt8](repeating: 0, count: 126)), 1_002),
            (Self.frame(1, text, isLast: false) + Self.frame(1, text), 1_002),
            (Self.frame(1, [UInt8](repeating: 0, count: 100_001)), 1_009),
            (
                Self.frame(1, [UInt8](repeating: 0, count: 60_000), isLast: false)
                    + Self.frame(0, [UInt8](repeating: 0, count: 60_000)), 1_009
            ),
            ([130, 255, 255, 255, 255, 255, 255, 255, 255, 255], 1_009),
        ] as [([UInt8], UInt16)] {
            #expect(throws: WebSocketReader.Fault(code: code)) { try Self.messages(bytes) }
        }
    }

    @Test func anyBytesAreReadOrRefused() {
        var random = SplitMix(seed: 18)
        for _ in 0..<2_000 {
            let bytes = (0..<Int.random(in: 1...40, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            _ = try? Self.messages(bytes, piece: 3)
        }
    }

    @Test(arguments: [0, 125, 126, 65_535, 65_536])
    func framesHaveTheirLength(count: Int) {
        let frame = WebSocketFrame.binary([UInt8](repeating: 5, count: count))
        let header = count < 126 ? 2 : count < 65_536 ? 4 : 10
        #expect(frame.count == header + count && frame[0] == 130)
        #expect(frame[1] == (count < 126 ? UInt8(count) : count < 65_536 ? 126 : 127))
        #expect(WebSocketFrame.close(code: 1_000) == [136, 2, 3, 232])
    }

    @Test func onlyAProperRequestIsAnUpgrade() {
        var request = WebRequest(method: "GET", path: "/foxglove")
        request.headers = [
            "upgrade": "WebSocket", "connection": "keep-alive, Upgrade", "sec-websocket-version": "13",
            "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "sec-websocket-protocol": "a, foxglove.sdk.v1",
        ]
        #expect(WebSocketUpgrade(request)?.protocols == ["a", "foxglove.sdk.v1"])
        for (name, value) in [
            ("upgrade", "h2c"), ("connection", "close"), ("sec-websocket-version", "8"), ("sec-websocket-key", "short"),
        ] {
            var wrong = request
            wrong.headers[name] = value
            #expect(WebSocketUpgrade(wrong) == nil, "\(name)")
        }
        request.method = "POST"
        #expect(WebSocketUpgrade(request) == nil)
    }
}
