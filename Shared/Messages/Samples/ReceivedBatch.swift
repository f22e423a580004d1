/// A batch of samples in place: its body, and its matrix if the batch is packed.
///
/// The socket lends the memory for the duration of one call: don't keep the value.
package struct ReceivedBatch {
    package let body: SampleBody
    package let frame: UnsafeRawBufferPointer
    /// The matrix; nil if the body has the values.
    package let packed: UnsafeRawBufferPointer?

    package init(_ body: SampleBody, _ frame: UnsafeRawBufferPointer, packed: UnsafeRawBufferPointer?) {
        self.body = body
        self.frame = frame
        self.packed = body.values == nil ? packed : nil
    }

    /// The upper bound of a sample's sequence, exclusive: the largest whole number that every JSON reader represents exactly.
    /// At a million samples per second it is reached after 285 years.
    package static let maximumSequence = 1 << 53

    /// Whether a stream can reach these numbers.
    package static func isPossible(sequence: Int, count: Int) -> Bool {
        (0...maximumSequence).contains(sequence) && (0...maximumSequence - sequence).contains(count)
    }

    package var fields: [String] {
        get throws(MessageError) { try SampleBody.fieldNames(at: body.fields, in: frame) }
    }

    /// The types of the columns in a stream of records; nil if all are numbers.
    package var types: [FieldType]? {
        get throws(MessageError) {
            guard let token = body.types else { return nil }
            let types = try SampleBody.fieldNames(at: token, in: frame).map(FieldType.init(rawValue:))
            let columns = try fields.count
            guard types.count == columns, types[0] == .number else {
                throw MessageError(
                    .wrongColumns,
                    "\"types\" must name a type for each of the \(columns) fields, and \"number\" for the first")
            }
            return types
        }
    }

    /// The names and types of the columns as the body spells them, for comparison with the next batch.
    package var fieldsToken: [UInt8] { Array(frame[body.fields]) + (body.types.map { Array(frame[$0]) } ?? []) }

    /// Whether the columns are spelled like these.
    package func hasFields(_ token: [UInt8]) -> Bool {
        let fields = UnsafeRawBufferPointer(rebasing: frame[body.fields])
        guard let types = body.types else { return fields.isSame(as: token) }
        return token.count == fields.count + types.count && token.starts(with: fields)
            && token[fields.count...].elementsEqual(frame[types])
    }

    package func isOf(_ stream: StreamName) -> Bool {
        SampleBody.string(at: body.device, in: frame) == stream.device
            && SampleBody.string(at: body.stream, in: frame) == stream.stream
    }

    /// Refuses a batch whose size contradicts its `count`, before other code computes with `count`.
    /// - Parameter columns: returns the number of values in a row.
    /// - Throws: `outOfRange`, `missingField`, `malformed` or `wrongColumns`.
    package func check(columns: () throws(MessageError) -> Int) throws(MessageError) {
        guard Self.isPossible(sequence: body.sequence, count: body.count) else {
            throw MessageError(.outOfRange, "there can't be \(body.count) samples from \(body.sequence) on")
        }
        if body.types != nil, body.values == nil {
            throw MessageError(.missingField, "a batch of records has no \"values\"")
        }
        if let values = body.values {
            // Each row has at least its two brackets; walking the rows finds out whether the rows exist.
            guard body.count <= values.count / 2 else {
                throw MessageError(.malformed, "\"values\" has not \(body.count) rows, as \"count\" says")
            }
        } else if let packed {
            let size = 8 * (try columns())
            guard packed.count.isMultiple(of: size), packed.count / size == body.count else {
                throw MessageError(.wrongColumns, "\(packed.count) bytes are not \(body.count) rows of \(size)")
            }
        } else {
            throw MessageError(.missingField, "the batch has neither \"values\" nor a packed frame")
        }
    }

    /// The uptimes in nanoseconds. Needed only if a stream was met late.
    package var uptimes: [Int64] {
        get throws(MessageError) {
            let columns = try fields.count
            var uptimes: [Int64] = []
            if let packed {
                for row in 0..<body.count {
                    uptimes.append(Self.nanoseconds(packed.packedNumber(row * columns)))
                }
            } else if let values = body.values {
                var rows = SampleRows(frame, values: values, columns: columns, types: try types)
                while try rows.next() { uptimes.append(Self.nanoseconds(rows.number(0))) }
            }
            return uptimes
        }
    }

    /// The uptime of one row in nanoseconds; nil if there is no such row. Needed only if the publisher's machine slept.
    package func uptime(ofRow row: Int) throws(MessageError) -> Int64? {
        guard row < body.count else { return nil }
        let columns = try fields.count
        if let packed { return Self.nanoseconds(packed.packedNumber(row * columns)) }
        guard let values = body.values else { return nil }
        var rows = SampleRows(frame, values: values, columns: columns, types: try types)
        while try rows.next() {
            if rows.rowCount > row { return Self.nanoseconds(rows.number(0)) }
        }
        return nil
    }

    private static func nanoseconds(_ uptime: Double) -> Int64 {
        uptime.magnitude < 9e9 ? Int64((uptime * 1e9).rounded()) : .max
    }

    /// How far the publisher's clock that continues in sleep was ahead of its uptimes at the samples, in nanoseconds. Batches
    /// have it once the machine has slept; nil before that.
    package var clockDifference: Int64? {
        // Reading the clock of every batch would take time. Without `elapsed`, nothing in it has this letter.
        guard frame[body.clock].contains(UInt8(ascii: "l")),
            let clock = try? SampleBody.clock(at: body.clock, in: frame), let elapsed = clock.elapsed
        else { return nil }
        return Int64(nanosecondsIn: elapsed) - Int64(nanosecondsIn: clock.uptime)
    }
}

extension ReceivedBatch {
    /// Lends the batches of a replay: bodies, each followed by its matrix if it is packed.
    /// - Parameters:
    ///   - take: receives a batch, and why samples that are missing before it are lost: before the first batch they are not
    ///     retained, after an unreadable one they are malformed. If it throws a `MessageError`, the batch counts as unreadable
    ///     and the next one follows.
    ///   - unreadable: receives the error of an unreadable batch.
    package static func forEach(
        inReplay frames: ArraySlice<[UInt8]>, _ take: (ReceivedBatch, _ missing: Gap.Reason?) throws -> Void,
        unreadable: (MessageError) -> Void
    ) throws {
        var reason: Gap.Reason? = .notRetained
        var index = frames.startIndex
        while index < frames.endIndex {
            do {
                let frame = frames[index]
                index += 1
                try frame.withUnsafeBytes { frame in
                    let body = try SampleBody(frame)
                    var packed: [UInt8]?
                    if body.values == nil, index < frames.endIndex {
                        packed = frames[index]
                        index += 1
                    }
                    try packed.withOptionalBytes { packed in
                        try take(ReceivedBatch(body, frame, packed: packed), reason)
                    }
                }
                reason = nil
            } catch let error as MessageError {
                unreadable(error)
                reason = .malformed
            }
        }
    }
}

extension [UInt8]? {
    /// Lends the bytes, if there are any.
    package func withOptionalBytes<Result>(_ body: (UnsafeRawBufferPointer?) throws -> Result) rethrows -> Result {
        switch self {
        case .some(let bytes): try bytes.withUnsafeBytes { try body($0) }
        case nil: try body(nil)
        }
    }
}
