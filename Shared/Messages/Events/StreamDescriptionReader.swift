/// Reads the descriptions of one stream as they arrive. The fast path applies if each is written like the previous one.
///
/// A recorder of a thousand streams reads a thousand a second. They differ only in the values of `Key`; all other bytes are
/// compared with the last description's at once. A description written differently is decoded, with the same result and the
/// same errors.
package final class StreamDescriptionReader {
    /// The last description, and its bytes without the values of `Key`.
    private var last: (description: StreamDescription, rest: [UInt8])?

    package init() {}

    /// Reads a body.
    /// - Throws: `DecodingError`, or `MessageError` for another schema or an impossible value.
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

    /// The bytes between two values of `Key`.
    private struct Part {
        let bytes: UnsafeRawBufferPointer
        /// The offset of these bytes in the concatenation of all parts.
        let offset: Int
        let isLast: Bool

        /// Whether `rest`, the last description's bytes, has this part here.
        func take(_ rest: [UInt8]) -> Bool {
            guard isLast ? offset + bytes.count == rest.count : offset + bytes.count <= rest.count else { return false }
            return rest.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[offset...]).hasBytes(bytes) }
        }
    }

    /// The bytes without the values of `Key`; nil if reading only these values does not reproduce `decoded`.
    private static func rest(of frame: UnsafeRawBufferPointer, as decoded: StreamDescription) -> [UInt8]? {
        var rest: [UInt8] = []
        var description = decoded
        let isRead = try? scan(frame, into: &description) { part in
            rest.append(contentsOf: part.bytes)
            return true
        }
        return isRead == true && description == decoded ? rest : nil
    }

    /// Reads the values of `Key`.
    /// - Parameter look: receives the parts between them, in order; reading ends when it returns false.
    /// - Returns: false if `look` did.
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

    /// The keys whose values differ between descriptions.
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

        /// Whether the string at `token`, written without escapes, is this key.
        func isSpelled(at token: Range<Int>, in frame: UnsafeRawBufferPointer) -> Bool {
            let spelling = spelling
            return spelling.utf8CodeUnitCount == token.count
                && UnsafeRawBufferPointer(rebasing: frame[token]).hasBytes(
                    UnsafeRawBufferPointer(start: spelling.utf8Start, count: token.count))
        }
    }
}
