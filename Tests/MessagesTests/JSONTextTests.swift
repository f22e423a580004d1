import Foundation
import Messages
import Testing

@Suite("JSON text")
struct JSONTextTests {
    private func expected(_ value: some Encodable, isPretty: Bool) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if isPretty { encoder.outputFormatting.insert(.prettyPrinted) }
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private func expectSame(_ value: some Encodable) throws {
        for isPretty in [false, true] {
            let text = String(decoding: try JSONText.encode(value, isPretty: isPretty), as: UTF8.self)
            #expect(try text == expected(value, isPretty: isPretty))
        }
    }

    private func value(depth: Int, _ random: inout SeededGenerator) -> JSONValue {
        let words = ["", "a", "aa", "b10", "b9", "B", "ä", "€/\\\"", "\u{1}\n\t\u{7f}", "key", "Key", "🏃"]
        switch Int.random(in: 0...(depth > 0 ? 6 : 4), using: &random) {
        case 0: return .null
        case 1: return .boolean(Bool.random(using: &random))
        case 2: return .integer(Int.random(in: Int.min...Int.max, using: &random))
        case 3: return .number(Double.random(in: -1e9...1e9, using: &random))
        case 4: return .string(words.randomElement(using: &random) ?? "")
        case 5: return .array((0..<Int.random(in: 0...4, using: &random)).map { _ in value(depth: depth - 1, &random) })
        default:
            let members = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                (words.randomElement(using: &random) ?? "", value(depth: depth - 1, &random))
            }
            return .object(Dictionary(members) { first, _ in first })
        }
    }

    @Test("has the bytes of JSONEncoder for any value")
    func values() throws {
        var random = SeededGenerator()
        for _ in 0..<1_000 { try expectSame(value(depth: 4, &random)) }
    }

    private struct Everything: Encodable {
        struct Empty: Encodable {}
        struct Nothing: Encodable {
            func encode(to encoder: any Encoder) throws {}
        }
        struct Nested: Encodable {
            enum Key: String, CodingKey { case z, inner, list, a }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(1, forKey: .z)
                var inner = container.nestedContainer(keyedBy: Key.self, forKey: .inner)
                try inner.encode("z", forKey: .z)
                try inner.encodeNil(forKey: .a)
                var list = container.nestedUnkeyedContainer(forKey: .list)
                try list.encode(1)
                try list.encodeNil()
                var deepest = list.nestedContainer(keyedBy: Key.self)
                try deepest.encode(true, forKey: .a)
                try list.encode(2)
                try container.encode([Empty()], forKey: .a)
            }
        }
        enum Word: String, Encodable { case one }

        let z = 1
        let text = "a/b"
        let small: Int8 = -7
        let large = UInt64.max
        let word = Word.one
        let numbers = [1.5, 2, -0.0, .nan, .infinity, -.infinity, .leastNonzeroMagnitude, 1e300]
        let none: Int? = nil
        let some: Int? = 3
        let empty = Empty()
        let nothing = Nothing()
        let empties: [Empty] = [Empty(), Empty()]
        let noElements: [Int] = []
        let counts = [2: "b"]
        let names = ["b": ["d": 1, "c": 2], "a": [:]]
        let nested = Nested()
        let date = WallTime(nanosecondsSince1970: 1_800_000_000_123_456_789)
    }

    @Test("has the bytes of JSONEncoder for each kind of value, container and nesting")
    func kinds() throws { try expectSame(Everything()) }
}
