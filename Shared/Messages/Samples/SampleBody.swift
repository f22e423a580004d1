/// The parts of a received `samples.v1` body, found in place and without allocating.
///
/// Text stays in the frame: `device` and the like are ranges of the frame's bytes with the raw JSON value (a string with its
/// quotes and escapes), for comparison with the previous batch. The helpers decode them. Keys may come in any order; unknown
/// ones are skipped, and a repeated one is an error.
///
/// Everything is checked except the inside of `values`, where only the brackets are counted: `SampleRows` checks the rest as it
/// walks the rows. In a stream of records, whose texts may contain brackets, `values` is fully checked for being valid JSON.
public struct SampleBody: Sendable {
    /// The program that published the batch: a JSON string.
    public internal(set) var source = 0..<0
    /// The device that was sampled: a JSON string.
    public internal(set) var device = 0..<0
    /// The device's stream: a JSON string.
    public internal(set) var stream = 0..<0
    /// The publisher's epoch: a JSON string.
    public internal(set) var epoch = 0..<0
    /// The names of the columns: an array of strings.
    public internal(set) var fields = 0..<0
    /// The types of the columns: an array of strings; nil if all are numbers.
    public internal(set) var types: Range<Int>?
    /// One instant on both clocks: an object.
    public internal(set) var clock = 0..<0
    /// The samples: an array; nil if they are packed in a frame of their own.
    public internal(set) var values: Range<Int>?
    /// The index of the first sample in its epoch.
    public internal(set) var sequence = 0
    /// The number of samples in the batch.
    public internal(set) var count = 0

    /// Finds the parts of a body.
    ///
    /// - Throws: `malformed`, `wrongSchema`, `missingField`, `wrongType` or `outOfRange`.
    public init(_ frame: UnsafeRawBufferPointer) throws(MessageError) {
        do throws(MessageError) {
            try self.init(frame, holdsRecords: false)
            // Brackets were counted before `types` showed that the batch holds records.
            guard let types, let values, types.lowerBound > values.lowerBound else { return }
        } catch {
            // A bracket in a text may have misled the count.
            guard let body = try? SampleBody(frame, holdsRecords: true), body.types != nil else { throw error }
            self = body
            return
        }
        try self.init(frame, holdsRecords: true)
    }

    /// - Parameter holdsRecords: whether to read `values` as records before `types` is known.
    private init(_ frame: UnsafeRawBufferPointer, holdsRecords: Bool) throws(MessageError) {
        var scanner = JSONScanner(frame)
        var found: UInt16 = 0
        // Publishers sort their keys, so the key after the last one is tried first.
        var guess = 0
        try scanner.expect(UInt8(ascii: "{"))
        if !scanner.skip(UInt8(ascii: "}")) {
            repeat {
                let key = Key(at: try scanner.skipString(), in: frame, guess: guess)
                try scanner.expect(UInt8(ascii: ":"))
                guard let key else {
                    try scanner.skipValue()
                    continue
                }
                guard found & key.bit == 0 else { throw MessageError(.malformed, "\"\(key.name)\" appears twice") }
                found |= key.bit
                guess = key.rawValue + 1
                try read(key, with: &scanner, holdsRecords: holdsRecords)
            } while scanner.skip(UInt8(ascii: ","))
            try scanner.expect(UInt8(ascii: "}"))
        }
        try scanner.finish()
        if let missing = Key.allCases.first(where: { found & $0.bit == 0 && $0 != .values && $0 != .types }) {
            throw MessageError(.missingField, "\"\(missing.name)\" is missing")
        }
    }

    @inline(__always)
    private mutating func read(
        _ key: Key, with scanner: inout JSONScanner, holdsRecords: Bool
    ) throws(MessageError) {
        switch key {
        case .source: source = try Self.skipText(key, with: &scanner)
        case .device: device = try Self.skipText(key, with: &scanner)
        case .stream: stream = try Self.skipText(key, with: &scanner)
        case .epoch:
            epoch = try Self.skipText(key, with: &scanner)
            // Only the two quotes.
            guard epoch.count > 2 else { throw MessageError(.outOfRange, "\"epoch\" is empty") }
        case .sequence: sequence = try scanner.skipCount(key.name)
        case .count: count = try scanner.skipCount(key.name)
        case .schema: try Self.checkSchema(try Self.skipText(key, with: &scanner), in: scanner.bytes)
        case .fields: fields = try Self.skipTexts(key, with: &scanner)
        case .types: types = try Self.skipTexts(key, with: &scanner)
        case .clock:
            guard scanner.peek() == UInt8(ascii: "{") else { throw Self.wrongType(key, "an object") }
            clock = try scanner.skipValue()
        case .values:
            guard scanner.peek() == UInt8(ascii: "[") else { throw Self.wrongType(key, "an array of rows") }
            values = try holdsRecords || types != nil ? scanner.skipValue() : scanner.skipBrackets()
        }
    }

    @inline(__always)
    private static func skipText(_ key: Key, with scanner: inout JSONScanner) throws(MessageError) -> Range<Int> {
        guard scanner.peek() == UInt8(ascii: "\"") else { throw wrongType(key, "a string") }
        return try scanner.skipString()
    }

    private static func skipTexts(_ key: Key, with scanner: inout JSONScanner) throws(MessageError) -> Range<Int> {
        let kind: StaticString = "an array of one string or more"
        guard scanner.peek() == UInt8(ascii: "[") else { throw wrongType(key, kind) }
        let start = scanner.index
        try scanner.expect(UInt8(ascii: "["))
        repeat {
            guard scanner.peek() == UInt8(ascii: "\"") else { throw wrongType(key, kind) }
            try scanner.skipString()
        } while scanner.skip(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "]"))
        return start..<scanner.index
    }

    private static func checkSchema(_ token: Range<Int>, in frame: UnsafeRawBufferPointer) throws(MessageError) {
        if spells("samples.v1", at: token, in: frame) { return }
        let schema = JSONScanner.string(at: token, in: frame)
        guard schema == SampleBatch.schema else {
            throw MessageError(.wrongSchema, "the schema is \"\(schema)\", not \"\(SampleBatch.schema)\"")
        }
    }

    /// Whether the string at `token` is `name`, written without escapes.
    @inline(__always)
    private static func spells(_ name: StaticString, at token: Range<Int>, in frame: UnsafeRawBufferPointer) -> Bool {
        let count = name.utf8CodeUnitCount
        guard token.count == count + 2 else { return false }
        let text = name.utf8Start
        for place in 0..<count where frame[token.lowerBound + 1 + place] != text[place] { return false }
        return true
    }

    @inline(never)
    private static func wrongType(_ key: Key, _ kind: StaticString) -> MessageError {
        MessageError(.wrongType, "\"\(key.name)\" must be \(kind)")
    }

    /// The keys of a body in the order that publishers write them.
    private enum Key: Int, CaseIterable {
        case clock, count, device, epoch, fields, schema, sequence, source, stream, types, values

        var bit: UInt16 { 1 << UInt16(rawValue) }

        @inline(__always)
        var name: StaticString {
            switch self {
            case .clock: "clock"
            case .count: "count"
            case .device: "device"
            case .epoch: "epoch"
            case .fields: "fields"
            case .schema: "schema"
            case .sequence: "sequence"
            case .source: "source"
            case .stream: "stream"
            case .types: "types"
            case .values: "values"
            }
        }

        /// The key whose string is at `token`; nil for an unknown one.
        @inline(__always)
        init?(at token: Range<Int>, in frame: UnsafeRawBufferPointer, guess: Int) {
            if let key = Key(rawValue: guess), SampleBody.spells(key.name, at: token, in: frame) {
                self = key
            } else {
                self.init(searching: token, in: frame)
            }
        }

        @inline(never)
        private init?(searching token: Range<Int>, in frame: UnsafeRawBufferPointer) {
            let isEscaped = frame[token].contains(UInt8(ascii: "\\"))
            let text = isEscaped ? JSONScanner.string(at: token, in: frame) : ""
            let key = Self.allCases.first { key in
                isEscaped ? text == key.name.description : SampleBody.spells(key.name, at: token, in: frame)
            }
            guard let key else { return nil }
            self = key
        }
    }
}

// MARK: - Decoding the parts

extension SampleBody {
    /// The text of a string of the frame, escapes resolved.
    public static func string(at token: Range<Int>, in frame: UnsafeRawBufferPointer) -> String {
        JSONScanner.string(at: token, in: frame)
    }

    /// The names of the columns, or of their types.
    ///
    /// - Parameter token: the range of `fields` or `types` in this frame.
    public static func fieldNames(
        at token: Range<Int>, in frame: UnsafeRawBufferPointer
    ) throws(MessageError) -> [String] {
        var scanner = JSONScanner(frame, in: token)
        var names: [String] = []
        try scanner.expect(UInt8(ascii: "["))
        repeat {
            names.append(string(at: try scanner.skipString(), in: frame))
        } while scanner.skip(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "]"))
        return names
    }

    /// The instant on both of the publisher's clocks.
    ///
    /// - Parameter token: the range of `clock` in this frame.
    /// - Throws: `missingField`, `wrongType`, `malformed` or `outOfRange` if it is not `{"date":…,"uptime":…}`.
    public static func clock(
        at token: Range<Int>, in frame: UnsafeRawBufferPointer
    ) throws(MessageError) -> ClockReading {
        var uptime: Double?
        var elapsed: Double?
        var date: WallTime?
        var scanner = JSONScanner(frame, in: token)
        try scanner.expect(UInt8(ascii: "{"))
        if !scanner.skip(UInt8(ascii: "}")) {
            repeat {
                let key = string(at: try scanner.skipString(), in: frame)
                try scanner.expect(UInt8(ascii: ":"))
                let value = try scanner.skipValue()
                if key == "uptime" || key == "elapsed" {
                    let number = DecimalParser.parse(UnsafeRawBufferPointer(rebasing: frame[value]))
                    guard let number, number.isFinite else {
                        throw MessageError(.wrongType, "\"clock.\(key)\" must be a finite number")
                    }
                    if key == "uptime" { uptime = number } else { elapsed = number }
                } else if key == "date" {
                    guard frame[value.lowerBound] == UInt8(ascii: "\"") else {
                        throw MessageError(.wrongType, "\"clock.date\" must be a string")
                    }
                    // Without the quotes.
                    let text = UnsafeRawBufferPointer(rebasing: frame[value].dropFirst().dropLast())
                    date = WallTime(iso8601: text)
                    if date == nil { date = try WallTime(iso8601: string(at: value, in: frame)) }
                }
            } while scanner.skip(UInt8(ascii: ","))
        }
        guard let uptime else { throw MessageError(.missingField, "\"clock.uptime\" is missing") }
        guard let date else { throw MessageError(.missingField, "\"clock.date\" is missing") }
        let reading = ClockReading(uptime: uptime, date: date, elapsed: elapsed)
        try reading.check()
        return reading
    }
}
