import Messages
import TestSupport
import Testing

@testable import Recording

@Suite(.timeLimit(.minutes(5)))
struct LogBlockTests {
    private func number(_ bytes: [UInt8], at place: Int) -> Int {
        bytes[place..<(place + 8)].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// The check value in catalogues of checksums, which assume that all bits are inverted at the end.
    @Test func theChecksumIsCastagnolis() {
        let sum = Array("123456789".utf8).withUnsafeBytes { LogBlock.checksum($0) }
        #expect(~sum == 0xE306_9283)
        let first = Array("1234".utf8).withUnsafeBytes { LogBlock.checksum($0) }
        #expect(Array("56789".utf8).withUnsafeBytes { LogBlock.checksum($0, after: first) } == sum)
    }

    @Test func theHeaderSaysWhatTheBlockIs() throws {
        let appender = LogAppender(log: "L1", position: 0x0102_0304_0506)
        appender.append(held: "abc", of: appender.number(try SessionIdentifier("s1")))
        let block = try #require(appender.takeBlock())
        let bytes = try block.bytes(synced: 0x0102_0304_0500)
        #expect(bytes.count == block.count)
        #expect(bytes[..<4] == Array("HFW1".utf8)[...])
        #expect(number(bytes, at: 8) == block.count)
        #expect(number(bytes, at: 16) == 0x0102_0304_0506)
        #expect(number(bytes, at: 24) == 0x0102_0304_0500)
        let checksum = bytes[8...].withUnsafeBytes { LogBlock.checksum($0) }
        #expect(number(bytes[4..<8] + [0, 0, 0, 0], at: 0) == Int(checksum))
        #expect(block.end == block.position + block.count)
        // The same block may be written at another position later.
        #expect(try block.bytes(synced: 7).dropFirst(32) == bytes.dropFirst(32))
    }

    private func number(_ bytes: ArraySlice<UInt8>, at place: Int) -> Int { number(Array(bytes), at: place) }

    @Test func framesOfLaterVersionsArePassedOver() throws {
        func frame(_ kind: UInt8, _ text: String) -> [UInt8] {
            [kind, 0, 0, 0, 9, 0, 0, 0, UInt8(text.utf8.count), 0, 0, 0, 0, 0, 0, 0] + Array(text.utf8)
        }
        let bytes = [UInt8](repeating: 0, count: 32) + frame(9, "one") + frame(200, "new") + frame(9, "two")
        for count in 0...7 {
            var frames: [FrameValue] = []
            (bytes + [UInt8](repeating: 0, count: count)).withUnsafeBytes { block in
                LogFrame.forEach(in: block, at: 77) { frames.append(FrameValue($0)) }
            }
            #expect(frames.map(\.text) == ["one", "two"])
            #expect(frames.allSatisfy { $0.number == 9 && $0.position == 77 })
        }
        // A frame whose length exceeds the block, or is negative, is invalid.
        for length in [UInt8(4), 255] {
            var bad = [UInt8](repeating: 0, count: 32) + frame(9, "one")
            bad[40] = length
            if length == 255 { bad[47] = 255 }
            bad.withUnsafeBytes { block in LogFrame.forEach(in: block, at: 0) { _ in Issue.record("a frame") } }
        }
    }

    @Test func aHeadThatCannotBeIsNone() {
        var bytes = [UInt8](repeating: 0, count: RecordsHead.byteCount)
        #expect(bytes.withUnsafeBytes { RecordsHead($0) }?.offset == 0)
        #expect(bytes.dropLast().withUnsafeBytes { RecordsHead($0) } == nil)
        bytes[15] = 0x80
        #expect(bytes.withUnsafeBytes { RecordsHead($0) } == nil)
    }
}
