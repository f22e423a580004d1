import FoundationEssentials
import Messages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ByteBufferTests {
    @Test func whatIsAppendedStandsInOrder() {
        var buffer = ByteBuffer(capacity: 0)
        buffer.append(UInt8(ascii: "a"))
        buffer.append(Array("bc".utf8))
        buffer.append(utf8: "dé")
        buffer.append(-12)
        buffer.append(json: 5)
        buffer.append(text: 0.25)
        Array("!".utf8).withUnsafeBytes { buffer.append($0) }
        buffer.append(UnsafeRawBufferPointer(start: nil, count: 0))
        #expect(buffer.text == "abcdé-1250.25!")
        #expect(buffer.count == 15)
    }

    @Test func aBufferGrowsAndKeepsItsBytes() {
        var buffer = ByteBuffer(capacity: 1)
        var expected = ""
        for number in 0..<1000 {
            buffer.append(number)
            expected += String(number)
        }
        #expect(buffer.text == expected)
        let capacity = buffer.capacity
        buffer.removeAll()
        #expect(buffer.count == 0)
        #expect(buffer.capacity == capacity)
    }

    @Test func aBufferWithRoomDoesNotGrow() {
        var buffer = ByteBuffer(capacity: 0)
        buffer.reserve(1000)
        let capacity = buffer.capacity
        for _ in 0..<1000 { buffer.append(UInt8(0)) }
        #expect(buffer.capacity == capacity)
    }

    @Test(arguments: [0, 7, -7, 10, 99, 100, 1_000_000, .max, .min])
    func integersReadLikeTheirDescription(_ integer: Int64) {
        var buffer = ByteBuffer(capacity: 0)
        buffer.append(integer)
        #expect(buffer.text == String(integer))
    }

    @Test func nonFiniteNumbersAreQuotedInJSONOnly() {
        var buffer = ByteBuffer(capacity: 0)
        for number in [Double.nan, .infinity, -.infinity] { buffer.append(json: number) }
        for number in [Double.nan, .infinity, -.infinity] { buffer.append(text: number) }
        #expect(buffer.text == #""NaN""Infinity""-Infinity"NaNInfinity-Infinity"#)
    }

    @Test func stringsAreEscapedLikeJSONEncoderDoes() throws {
        var text = "é/\u{2028}\u{FFFF}😀"
        for scalar in 0..<0x200 { text.unicodeScalars.append(Unicode.Scalar(UInt16(scalar)) ?? " ") }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        var buffer = ByteBuffer(capacity: 0)
        buffer.append(jsonString: text)
        #expect(try buffer.text == String(decoding: encoder.encode(text), as: UTF8.self))
    }

    @Test func whatWasAppendedCanBeTakenBack() {
        var buffer = ByteBuffer(capacity: 0)
        buffer.append(utf8: "kept")
        let count = buffer.count
        buffer.append(utf8: " not kept")
        buffer.truncate(to: count)
        #expect(buffer.text == "kept")
    }

    @Test func theTailTakesWhatWasWrittenToIt() {
        struct Refusal: Error {}
        var buffer = ByteBuffer(capacity: 0)
        buffer.append(utf8: "a")
        buffer.withUnsafeMutableTail(reserving: 500) { tail in
            tail.update(repeating: UInt8(ascii: "b"), count: 500)
            return 3
        }
        #expect(throws: Refusal.self) {
            try buffer.withUnsafeMutableTail(reserving: 5) { _ throws(Refusal) in throw Refusal() }
        }
        #expect(buffer.text == "abbb")
    }
}

extension ByteBuffer {
    var text: String {
        withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}
