import FoundationEssentials
import Messages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct JSONScannerTests {
    static func isValid(_ text: some Collection<UInt8>) -> Bool {
        Array(text).withUnsafeBytes { JSONScanner.isValid($0) }
    }

    @Test(arguments: [
        "0", "-0", "1.5e-10", "1E+5", "\"\"", "true", "false", "null", "[]", "{}", " [ 1 , 2 ] ",
        "\t{\r\n\"a\" : [ ] }",
        #"{"a":{"b":[1,"x",null,true,{}]}}"#, #""\"\\\/\b\f\n\r\tA""#, #""\uD83D\ude00""#, "\"é€😀\"",
        "\"a longer text, so that whole words are compared at once\"", "\"12345678\"", "12345678901234567890123456789",
        "\"\u{7F}\u{2028}\"",
    ])
    func goodTextsAreValid(_ text: String) {
        #expect(Self.isValid(text.utf8))
    }

    @Test(arguments: [
        "", " ", "[", "]", "{", "}", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{1:1}",
        "[1}",
        "01", "-", "+1", ".5", "1.", "1.e5", "1e", "1e+", "- 1", "0x1", "1_000", "NaN", "Infinity", "tru", "truee",
        "nul",
        "True", "\"", "\"a", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12G4\"", "\"\\uD800\"", "\"\\uD800\\n\"",
        "\"\\uD800\\u0041\"", "\"\\uDC00\"", "\"a\nb\"", "\"a\u{0}b\"", "\"a longer text with a tab\t in it\"", "'a'",
        "1 1", "[1]]", "\u{FEFF}1", "\u{A0}1", "\u{B}1", "//\n1", "1/**/",
    ])
    func badTextsAreNotValid(_ text: String) {
        #expect(!Self.isValid(text.utf8))
    }

    @Test(
        arguments: [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x22], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80],
            [0xE2, 0x82], [0xE2, 0x82, 0x22], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x98], [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80, 0x80, 0x80], [0xFF],
        ] as [[UInt8]])
    func bytesThatAreNotUTF8AreNotValid(_ bytes: [UInt8]) {
        #expect(!Self.isValid([0x22] + bytes + [0x22]))
        #expect(!Self.isValid([0x22] + bytes))
        #expect(!Self.isValid(bytes))
    }

    @Test func depthIsBounded() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(Self.isValid(nested(JSONScanner.maximumDepth).utf8))
        #expect(!Self.isValid(nested(JSONScanner.maximumDepth + 1).utf8))
        #expect(!Self.isValid(String(repeating: "[", count: 1_000_000).utf8))
        #expect(!Self.isValid(String(repeating: "{\"\":", count: 1_000_000).utf8))
    }

    @Test func everyBeginningOfATextIsRefused() {
        let text = Array(#"{"a":[1.5e+3,"é\ud83d\ude00\n",true,null,{}],"b":"12345678 and more"}"#.utf8)
        #expect(Self.isValid(text))
        for length in 0..<text.count { #expect(!Self.isValid(text.prefix(length)), "cut to \(length) bytes") }
    }

    /// Any JSON, decoded by the other available implementation, down to its last string.
    private struct AnyJSON: Decodable {
        private struct Key: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        init(from decoder: any Decoder) throws {
            if let object = try? decoder.container(keyedBy: Key.self) {
                for key in object.allKeys { _ = try object.decode(AnyJSON.self, forKey: key) }
            } else if var array = try? decoder.unkeyedContainer() {
                while !array.isAtEnd { _ = try array.decode(AnyJSON.self) }
            } else {
                let value = try decoder.singleValueContainer()
                if value.decodeNil() || (try? value.decode(Bool.self)) != nil { return }
                if (try? value.decode(String.self)) == nil { _ = try value.decode(Double.self) }
            }
        }
    }

    @Test func mutatedTextsAreValidForFoundationToo() {
        var generator = SeededGenerator()
        // One or two mutations of this text cannot produce the known differences: equal keys, and exponents too large for a
        // Double.
        let original = Array(
            (#"{"alpha":[1.5e+0,"é😀\n\u00e9\/",true,null,{}],"beta":{"gamma":-0.25,"delta":"12345678 []"},"#
                + #" "zeta": 10}"#).utf8)
        let alphabet = Array("{}[]\",:\\u012eE+-. tfn\n".utf8) + [0x00, 0x80, 0xC3, 0xED, 0xFF]
        var validCount = 0
        for _ in 0..<5000 {
            var text = original
            for _ in 0...Int.random(in: 0...1, using: &generator) {
                let place = Int.random(in: text.indices, using: &generator)
                switch Int.random(in: 0...2, using: &generator) {
                case 0: text.remove(at: place)
                case 1: text.insert(alphabet.randomElement(using: &generator) ?? 0, at: place)
                default: text[place] = alphabet.randomElement(using: &generator) ?? 0
                }
            }
            let isValid = Self.isValid(text)
            let isFoundations = (try? JSONDecoder().decode(AnyJSON.self, from: Data(text))) != nil
            if isValid { validCount += 1 }
            // Foundation accepts a comma at the end of an object or an array.
            let unblanked = String(decoding: text, as: UTF8.self).filter { !$0.isWhitespace }
            if isFoundations, unblanked.contains(",}") || unblanked.contains(",]") { continue }
            #expect(isValid == isFoundations, "\(String(decoding: text, as: UTF8.self))")
        }
        #expect(validCount > 100)
    }

    @Test(arguments: [
        ("\"\"", ""), ("\"plain\"", "plain"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
        (#""\u00e9\u20AC\ud83d\uDE00!""#, "é€😀!"), ("\"é\\n€\"", "é\n€"),
    ])
    func stringsAreDecoded(_ token: String, _ text: String) {
        let bytes = Array("[\(token)]".utf8)
        bytes.withUnsafeBytes { bytes in
            #expect(JSONScanner.string(at: 1..<(bytes.count - 1), in: bytes) == text)
        }
    }
}
