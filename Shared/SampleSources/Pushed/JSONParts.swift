import Messages

/// The parts of a JSON text, read in place. Errors name the expected type.
struct JSONParts {
    private let bytes: UnsafeRawBufferPointer
    /// The range of the whole value.
    let whole: Range<Int>

    /// Checks that a text is one value, with arrays and objects nested at most 32 deep.
    init(_ bytes: UnsafeRawBufferPointer) throws(PublisherError) {
        self.bytes = bytes
        do throws(MessageError) {
            var scanner = JSONScanner(bytes)
            whole = try scanner.skipValue()
            try scanner.finish()
        } catch {
            throw PublisherError(.invalidInput, "the body is not JSON: \(error.message)")
        }
    }

    subscript(value: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[value]) }

    /// Calls a closure with each member of an object.
    func forEachMember(
        of object: Range<Int>, _ what: String,
        _ body: (_ name: String, _ value: Range<Int>) throws(PublisherError) -> Void
    ) throws(PublisherError) {
        guard bytes[object.lowerBound] == UInt8(ascii: "{") else { throw wrong(what, "an object") }
        var scanner = JSONScanner(bytes, in: object)
        _ = scanner.skip(UInt8(ascii: "{"))
        if scanner.skip(UInt8(ascii: "}")) { return }
        repeat {
            guard let key = try? scanner.skipString(), scanner.skip(UInt8(ascii: ":")),
                let value = try? scanner.skipValue()
            else { throw wrong(what, "an object") }
            try body(JSONScanner.string(at: key, in: bytes), value)
        } while scanner.skip(UInt8(ascii: ","))
    }

    /// Calls a closure with each element of an array.
    func forEachElement(
        of array: Range<Int>, _ what: String, _ body: (_ value: Range<Int>) throws(PublisherError) -> Void
    ) throws(PublisherError) {
        guard bytes[array.lowerBound] == UInt8(ascii: "[") else { throw wrong(what, "an array") }
        var scanner = JSONScanner(bytes, in: array)
        _ = scanner.skip(UInt8(ascii: "["))
        if scanner.skip(UInt8(ascii: "]")) { return }
        repeat {
            guard let value = try? scanner.skipValue() else { throw wrong(what, "an array") }
            try body(value)
        } while scanner.skip(UInt8(ascii: ","))
    }

    func text(_ value: Range<Int>, _ what: String) throws(PublisherError) -> String {
        guard bytes[value.lowerBound] == UInt8(ascii: "\"") else { throw wrong(what, "a text") }
        return JSONScanner.string(at: value, in: bytes)
    }

    func flag(_ value: Range<Int>, _ what: String) throws(PublisherError) -> Bool {
        switch bytes[value.lowerBound] {
        case UInt8(ascii: "t"): true
        case UInt8(ascii: "f"): false
        default: throw wrong(what, "true or false")
        }
    }

    func isNumber(_ value: Range<Int>) -> Bool {
        let first = bytes[value.lowerBound]
        return first == UInt8(ascii: "-") || first &- UInt8(ascii: "0") < 10
    }

    /// A number that a `Double` can hold.
    func number(_ value: Range<Int>, _ what: String) throws(PublisherError) -> Double {
        guard isNumber(value), let number = DecimalParser.parse(self[value]), number.isFinite else {
            throw wrong(what, "a number")
        }
        return number
    }

    /// A whole number up to JavaScript's largest exact one.
    func count(_ value: Range<Int>, _ what: String) throws(PublisherError) -> Int {
        guard let count = Int(String(decoding: self[value], as: UTF8.self)), (0...Self.largestCount).contains(count)
        else { throw wrong(what, "a whole number of 0 or more") }
        return count
    }

    /// A time in nanoseconds: written in seconds, or in nanoseconds since 1970.
    func time(_ value: Range<Int>, _ what: String) throws(PublisherError) -> Int64 {
        guard isNumber(value), let time = Nanoseconds.from(text: self[value]) else {
            throw wrong(what, "a time in seconds, or in nanoseconds since 1970")
        }
        return time
    }

    /// A time as a whole number, in any unit.
    func wholeTime(_ value: Range<Int>, _ what: String) throws(PublisherError) -> Int64 {
        guard let time = Int64(String(decoding: self[value], as: UTF8.self)), (0...Nanoseconds.limit).contains(time)
        else { throw wrong(what, "a whole number of 0 or more") }
        return time
    }

    /// 2^53 - 1.
    private static let largestCount = 9_007_199_254_740_991

    private func wrong(_ what: String, _ expected: String) -> PublisherError {
        PublisherError(.invalidInput, "\(what) must be \(expected)")
    }
}
