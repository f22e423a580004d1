/// Writes the batches of one stream without allocating: the same bytes as `JSONEncoder` with `.sortedKeys` and
/// `.withoutEscapingSlashes` writes for a `SampleBatch`.
///
/// Create one per stream: the initializer lays out the parts that all batches share. It is a class so that a batch copies one
/// reference.
public final class SampleBatchEncoder: Sendable {
    /// The number of Float64 values per row: in a stream of records only the uptime.
    public let columns: Int
    /// Whether the samples travel in a frame of their own, so that the body has no `values`.
    public let isPacked: Bool

    private let beforeDate: [UInt8]
    private let afterCount: [UInt8]
    private let afterSequence: [UInt8]

    /// Creates an encoder for one stream in one epoch.
    ///
    /// - Parameter types: a type for each field of a stream of records, which is never packed.
    public init(
        source: String, device: String, stream: String, epoch: String, fields: [String], types: [FieldType]? = nil,
        isPacked: Bool
    ) {
        precondition(types.map { $0.count == fields.count && !isPacked } ?? true, "only numbers can be packed")
        columns = types == nil ? fields.count : 1
        self.isPacked = isPacked
        beforeDate = Array(#"{"clock":{"date":""#.utf8)

        var text = ByteBuffer(capacity: 512)
        text.append(utf8: #","device":"#)
        text.append(jsonString: device)
        text.append(utf8: #","epoch":"#)
        text.append(jsonString: epoch)
        text.append(utf8: #","fields":["#)
        text.append(jsonStrings: fields)
        text.append(utf8: #"],"schema":"samples.v1","sequence":"#)
        afterCount = text.withUnsafeBytes { Array($0) }

        text.removeAll()
        text.append(utf8: #","source":"#)
        text.append(jsonString: source)
        text.append(utf8: #","stream":"#)
        text.append(jsonString: stream)
        if let types {
            text.append(utf8: #","types":["#)
            text.append(jsonStrings: types.map(\.rawValue))
            text.append(utf8: "]")
        }
        text.append(utf8: isPacked ? "}" : #","values":["#)
        afterSequence = text.withUnsafeBytes { Array($0) }
    }

    /// Appends the body of a batch to `buffer`.
    ///
    /// - Parameters:
    ///   - sequence: the index of the first sample in its epoch.
    ///   - count: the number of samples.
    ///   - clock: one instant on both clocks; the uptime is finite.
    ///   - rows: `count` rows of `columns` values each.
    public func encode(
        sequence: Int, count: Int, clock: ClockReading, rows: UnsafeBufferPointer<Double>,
        into buffer: inout ByteBuffer
    ) {
        precondition(rows.count == count * columns, "a batch has a value for each sample and field")
        appendHead(sequence: sequence, count: count, clock: clock, to: &buffer)
        if !isPacked { append(rows, count: count, to: &buffer) }
    }

    /// Appends the body of a batch of records to `buffer`.
    ///
    /// - Parameters:
    ///   - uptimes: one for each record, in seconds.
    ///   - values: for each record the JSON values of its other fields, separated by commas.
    public func encode(
        sequence: Int, clock: ClockReading, uptimes: UnsafeBufferPointer<Double>, values: RecordValues.Rows,
        into buffer: inout ByteBuffer
    ) {
        precondition(uptimes.count == values.count && columns == 1, "a record has an uptime and its values")
        appendHead(sequence: sequence, count: uptimes.count, clock: clock, to: &buffer)
        for (row, uptime) in uptimes.enumerated() {
            buffer.append(utf8: row > 0 ? ",[" : "[")
            buffer.append(json: uptime)
            buffer.append(UInt8(ascii: ","))
            values.withBytes(ofRow: row) { buffer.append($0) }
            buffer.append(UInt8(ascii: "]"))
        }
        buffer.append(utf8: "]}")
    }

    private func appendHead(sequence: Int, count: Int, clock: ClockReading, to buffer: inout ByteBuffer) {
        buffer.append(beforeDate)
        buffer.append(dateOf: clock)
        buffer.append(utf8: #","count":"#)
        buffer.append(count)
        buffer.append(afterCount)
        buffer.append(sequence)
        buffer.append(afterSequence)
    }

    private func append(_ rows: UnsafeBufferPointer<Double>, count: Int, to buffer: inout ByteBuffer) {
        for row in 0..<count {
            // Reserves the whole row at once: up to three bytes of quotes and comma per value, and a comma and brackets per
            // row.
            buffer.withUnsafeMutableTail(reserving: columns * (ShortestDecimal.maximumLength + 3) + 3) { text in
                var end = text
                func put(_ byte: Unicode.Scalar) {
                    end.pointee = UInt8(ascii: byte)
                    end += 1
                }
                if row > 0 { put(",") }
                put("[")
                for column in 0..<columns {
                    if column > 0 { put(",") }
                    let value = rows[row * columns + column]
                    if !value.isFinite { put("\"") }
                    end += ShortestDecimal.write(value, to: end)
                    if !value.isFinite { put("\"") }
                }
                put("]")
                return end - text
            }
        }
        buffer.append(utf8: "]}")
    }

    /// Appends samples as the packed frame carries them: a row-major matrix of little-endian Float64.
    public func encodePacked(_ rows: UnsafeBufferPointer<Double>, into buffer: inout ByteBuffer) {
        #if _endian(little)
            buffer.append(UnsafeRawBufferPointer(rows))
        #else
            for value in rows { withUnsafeBytes(of: value.bitPattern.littleEndian) { buffer.append($0) } }
        #endif
    }
}
