import Messages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct DecimalParserTests {
    static func parse(_ text: String) -> Double? {
        Array(text.utf8).withUnsafeBytes { DecimalParser.parse($0) }
    }

    /// Texts whose results differ from those of `Double`.
    static func failures(_ texts: some Sequence<String>) -> [String] {
        Array(texts.filter { parse($0)?.bitPattern != Double($0)?.bitPattern }.prefix(10))
    }

    @Test func shortestTextsAreReadBack() {
        var generator = SeededGenerator()
        #expect(Self.failures((0..<50_000).lazy.map { _ in generator.finiteNumber().description }) == [])
        let usual = (0..<50_000).lazy.map { _ in Double.random(in: -20...20, using: &generator).description }
        #expect(Self.failures(usual) == [])
    }

    @Test func decimalsOfAnyLengthAreRoundedToTheNearest() {
        var generator = SeededGenerator()
        let texts = (0..<50_000).lazy.map { _ in
            let digits = (0..<Int.random(in: 1...25, using: &generator)).map { _ in
                String(Int.random(in: 0...9, using: &generator))
            }
            let point = Int.random(in: 0...digits.count, using: &generator)
            let sign = ["", "-", "+"].randomElement(using: &generator) ?? ""
            let exponent = Bool.random(using: &generator) ? "" : "e\(Int.random(in: -330...330, using: &generator))"
            return sign + digits[..<point].joined() + "." + digits[point...].joined() + exponent
        }
        #expect(Self.failures(texts) == [])
    }

    @Test(arguments: [
        "0", "-0", "+1", "1.", ".5", "007", "1E5", "1e+05", "1e-5", "1e22", "1e23", "9007199254740993",
        "9007199254740992",
        "9007199254740991e22", "9007199254740993e-5", "1.00000000000000011102230246251565404236316680908203125",
        "1.00000000000000011102230246251565404236316680908203124", "18446744073709551616", "18446744073709551615",
        "10000000000000000000000", "0.000000000000000000000000000000000001", "2.2250738585072011e-308", "4.9e-324",
        "1e-400", "1e400", "-1e99999999999999999999", "1e-99999999999999999999", "0e999999",
    ])
    func hardTextsAreReadAsDoubleReadsThem(_ text: String) {
        #expect(Self.parse(text)?.bitPattern == Double(text)?.bitPattern)
    }

    @Test func aThousandDigitsAreRead() {
        let text = "1." + String(repeating: "0", count: 1000) + "1"
        #expect(Self.parse(text) == 1)
    }

    @Test(arguments: ["NaN", "\"NaN\""])
    func notANumberIsRead(_ text: String) {
        #expect(Self.parse(text)?.isNaN == true)
    }

    @Test(arguments: ["Infinity", "\"Infinity\""])
    func infinitiesAreRead(_ text: String) {
        #expect(Self.parse(text) == .infinity)
        #expect(Self.parse(text.replacing("I", with: "-I")) == -.infinity)
    }

    @Test(arguments: [
        "", "-", "+", ".", "-.", "e5", "1e", "1e+", "1.5.5", "1 ", " 1", "1,5", "0x10", "inf", "nan", "infinity",
        "\"NaN",
        "NaN\"", "\"", "\"\"", "\"1\"", "1\0", "--1", "1-", "null", "+Infinity",
    ])
    func whatIsNoNumberIsRefused(_ text: String) {
        #expect(Self.parse(text) == nil)
    }
}
