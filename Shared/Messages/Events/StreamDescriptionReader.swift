/// Reads the descriptions of one stream as they arrive, fast where each is written like the one before it.
///
/// A recorder of a thousand streams reads a thousand a second. They differ in their clock and in how far the stream has
/// come; all else is compared at once with the last one's. One that is written in another way is decoded, and so gives the
/// same result and the same errors.
package final class StreamDescriptionReader {
    /// The last description, and its bytes without the values that change.
    private var last: (description: StreamDescription, rest: [UInt8])?

    /// Nothing was read.
    package init() {}

    /// Reads a body.
    /// - Throws: `DecodingError`, or `MessageError` for another schema and for what can't be true.
    package func read(_ frame: UnsafeRawBufferPointer) throws -> StreamDescription {
        if let (known, rest) = last {
            var description = known
            if let isSame = try? Self.scan(frame, into: &description, passing: { $0.take(rest) }), isSame {
                try Self.check(description)
                return description
            }
        }
        let description = try WireCoding.decode(StreamDescription.self, from: frame)
        guard description.schema == StreamDescription.schema else {
            throw MessageError(
                .wrongSchema, "expected \(StreamDescription.schema), found \(description.schema)")
        }
        try Self.check(description)
        last = Self.rest(of: frame, as: description).map { (description, $0) }
        return description
    }

    /// Checks the values that others compute with.
    /// - Throws: `outOfRange` for a value that no stream can have.
    private static func check(_ description: StreamDescription) throws(MessageError) {
        try description.clock.check()
        guard !description.epoch.isEmpty else { throw MessageError(.outOfRange, "\"epoch\" is empty") }
        guard description.nextSequence >= 0 else {
            throw MessageError(
                .outOfRange, "\"nextSequence\" is \(description.nextSequence): write how many samples there were")
        }
        guard (0...description.nextSequence).contains(description.first ?? 0) else {
            throw MessageError(.outOfRange, "\"first\" must be between 0 and \"nextSequence\"")
        }
        for number in [description.rate, description.lastSample, description.retention] {
            guard number?.isFinite ?? true else {
                throw MessageError(.outOfRange, "\"rate\", \"lastSample\" and \"retention\" must be finite numbers")
            }
        }
    }

    /// What stands between the values that change.
    private struct Part {
        let bytes: UnsafeRawBufferPointer
        /// Where it begins in all that stands between them.
        let offset: Int
        let isLast: Bool

        /// Whether it is the same in another description.
        func take(_ rest: [UInt8]) -> Bool {
            guard isLast ? offset + bytes.count == rest.count : offset + bytes.count <= rest.count else { return false }
            return rest.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[offset...]).hasBytes(bytes) }
        }
    }

    /// The bytes without the values that change; nil if reading these values alone gives something else.
    private static func rest(of frame: UnsafeRawBufferPointer, as decoded: StreamDescription) -> [UInt8]? {
        var rest: [UInt8] = []
        var description = decoded
        let isRead = try? scan(frame, into: &description) { part in
            rest.append(contentsOf: part.bytes)
            return true
        }
        return isRead == true && description == decoded ? rest : nil
    }

    /// Reads the values that change.
    /// - Parameter look: is given what stands between them, in order; reading ends where it returns false.
    /// - Returns: whether it never did.
    private static func scan(
        _ frame: UnsafeRawBufferPointer, into description: inout StreamDescription, passing look: (Part) -> Bool
    ) throws(MessageError) -> Bool {
        var scanner = JSONScanner(frame)
        var start = 0
        var offset = 0
        func part(upTo end: Int, isLast: Bool = false) -> Bool {
            let part = Part(
                bytes: UnsafeRawBufferPointer(rebasing: frame[start..<end]), offset: offset, isLast: isLast)
            offset += end - start
            return look(part)
        }
        try scanner.expect(UInt8(ascii: "{"))
        repeat {
            let name = try scanner.skipString()
            try scanner.expect(UInt8(ascii: ":"))
            guard let key = Key.allCases.first(where: { $0.isSpelled(at: name, in: frame) }) else {
                try scanner.skipValue()
                continue
            }
            _ = scanner.peek()
            guard part(upTo: scanner.index) else { return false }
            switch key {
            case .clock: description.clock = try SampleBody.clock(at: try scanner.skipValue(), in: frame)
            case .lastSample: description.lastSample = try number(&scanner, frame)
            case .nextSequence: description.nextSequence = try scanner.skipCount("nextSequence")
            case .retention: description.retention = try number(&scanner, frame)
            case .sequence: description.sequence = try scanner.skipCount("sequence")
            }
            start = scanner.index
        } while scanner.skip(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "}"))
        try scanner.finish()
        return part(upTo: frame.count, isLast: true)
    }

    private static func number(
        _ scanner: inout JSONScanner, _ frame: UnsafeRawBufferPointer
    ) throws(MessageError) -> Double {
        let token = try scanner.skipNumber()
        guard let number = DecimalParser.parse(UnsafeRawBufferPointer(rebasing: frame[token])), number.isFinite else {
            throw scanner.malformed("a number was expected")
        }
        return number
    }

    /// The keys whose values change.
    private enum Key: CaseIterable {
        case clock, lastSample, nextSequence, retention, sequence

        private var spelling: StaticString {
            switch self {
            case .clock: #""clock""#
            case .lastSample: #""lastSample""#
            case .nextSequence: #""nextSequence""#
            case .retention: #""retention""#
            case .sequence: #""sequence""#
            }
        }

        /// Whether it is the string at `token`, written without escapes.
        func isSpelled(at token: Range<Int>, in frame: UnsafeRawBufferPointer) -> Bool {
            let spelling = spelling
            return spelling.utf8CodeUnitCount == token.count
                && UnsafeRawBufferPointer(rebasing: frame[token]).hasBytes(
                    UnsafeRawBufferPointer(start: spelling.utf8Start, count: token.count))
        }
    }
}
