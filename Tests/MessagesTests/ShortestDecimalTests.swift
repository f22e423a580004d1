import FoundationEssentials
import Messages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ShortestDecimalTests {
    static func expected(_ number: Double) -> String {
        if number.isNaN { return "NaN" }
        if number.isInfinite { return number < 0 ? "-Infinity" : "Infinity" }
        let text = number.description
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    static func text(of number: Double) -> String {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: ShortestDecimal.maximumLength) { text in
            guard let start = text.baseAddress else { return "" }
            let length = ShortestDecimal.write(number, to: start)
            return String(decoding: UnsafeBufferPointer(start: start, count: length), as: UTF8.self)
        }
    }

    /// Numbers with a wrong text; at most a few, because one fault affects many.
    static func failures(_ numbers: some Sequence<Double>) -> [String] {
        var failures: [String] = []
        for number in numbers where text(of: number) != expected(number) {
            failures.append("\(text(of: number)) for \(expected(number))")
            if failures.count == 10 { break }
        }
        return failures
    }

    @Test(arguments: [
        (0, "0"), (-0.0, "-0"), (5, "5"), (-5, "-5"), (0.1, "0.1"), (0.0001, "0.0001"), (0.00001, "1e-05"),
        (9007199254740992, "9007199254740992"), (9007199254740994, "9.007199254740994e+15"), (1e16, "1e+16"),
        (1e100, "1e+100"), (-1.5e-300, "-1.5e-300"), (123.456, "123.456"), (1e15, "1000000000000000"),
        (.leastNonzeroMagnitude, "5e-324"), (.greatestFiniteMagnitude, "1.7976931348623157e+308"),
        (-0x1p-1022, "-2.2250738585072014e-308"), (.nan, "NaN"), (.infinity, "Infinity"), (-.infinity, "-Infinity"),
    ])
    func knownNumbersHaveTheirText(_ number: Double, _ text: String) {
        #expect(Self.text(of: number) == text)
    }

    @Test(arguments: [0.1, 5, -0.0, 1e-5, 1e16, 0x1p53, 0x1.8p53, 1.5e-300])
    func theTextIsWhatJSONEncoderWrites(_ number: Double) throws {
        #expect(try Self.text(of: number) == String(decoding: JSONEncoder().encode(number), as: UTF8.self))
    }

    @Test func anyNumberReadsLikeItsDescription() {
        var generator = SeededGenerator()
        #expect(Self.failures((0..<200_000).lazy.map { _ in generator.finiteNumber() }) == [])
    }

    @Test func measuredNumbersReadLikeTheirDescription() {
        var generator = SeededGenerator()
        for range in [1.0, 20, 1e6] {
            #expect(Self.failures((0..<20_000).lazy.map { _ in .random(in: -range...range, using: &generator) }) == [])
        }
        for unit in [1.0, 10, 1e2, 1e3, 1e4, 1e6, 1e8, 1e9] {
            let counts = (0..<10_000).lazy.map { _ in Int.random(in: -1_000_000_000...1_000_000_000, using: &generator)
            }
            #expect(Self.failures(counts.map { Double($0) / unit }) == [])
        }
        let uptimes = (0..<20_000).lazy.map { _ in Int64.random(in: 0...1_000_000_000_000_000_000, using: &generator) }
        #expect(Self.failures(uptimes.map { Double($0) / 1e9 }) == [])
        #expect(Self.failures((0..<20_000).lazy.map { _ in Double(Float.random(in: -2...2, using: &generator)) }) == [])
    }

    @Test func smallIntegersReadLikeTheirDescription() {
        #expect(Self.failures((-20_000...20_000).lazy.map(Double.init)) == [])
        #expect(Self.failures((0...20_000).lazy.map { Double($0) / 1000 }) == [])
    }

    @Test func powersOfTwoAndTheirNeighboursReadLikeTheirDescription() {
        let powers = (-1074...1023).map { Double(sign: .plus, exponent: $0, significand: 1) }
        #expect(Self.failures(powers.flatMap { [$0, $0.nextUp, $0.nextDown, -$0, 3 * $0].filter(\.isFinite) }) == [])
    }

    @Test func powersOfTenAndTheirNeighboursReadLikeTheirDescription() throws {
        for digit in 1...9 {
            let powers = try (-323...307).map { try #require(Double("\(digit)e\($0)")) }
            #expect(Self.failures(powers.flatMap { [$0, $0.nextUp, $0.nextDown] }) == [])
        }
    }

    @Test func subnormalNumbersReadLikeTheirDescription() {
        var generator = SeededGenerator()
        #expect(Self.failures((1...20_000).lazy.map { Double(bitPattern: $0) }) == [])
        let any = (0..<20_000).lazy.map { _ in generator.next() >> UInt64.random(in: 12...63, using: &generator) }
        #expect(Self.failures(any.map { Double(bitPattern: $0) }) == [])
    }

    @Test func theEdgesOfWhatIsWrittenOutReadLikeTheirDescription() {
        let edges = [0x1p53, 0x1p54, 1e15, 1e16, 1e17, 1e-4, 1e-5]
        let numbers = edges.flatMap { edge in
            (-200...200).map { Double(bitPattern: UInt64(Int64(edge.bitPattern) + $0)) }
        }
        #expect(Self.failures(numbers + numbers.map { -$0 }) == [])
    }

    @Test func nothingIsWrittenBeyondTheMaximumLength() {
        var generator = SeededGenerator()
        let room = ShortestDecimal.maximumLength
        let numbers =
            (0..<2000).map { _ in generator.finiteNumber() }
            + (-10...17).map { -1.2345678901234567 * Double(sign: .plus, exponent: $0 * 3, significand: 1) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: room + 64) { text in
            guard let start = text.baseAddress else { return }
            for number in numbers {
                text.update(repeating: 0xAA)
                let length = ShortestDecimal.write(number, to: start)
                #expect(length <= 24)
                #expect(text[room...].allSatisfy { $0 == 0xAA })
            }
        }
    }
}
