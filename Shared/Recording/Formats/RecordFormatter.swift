package import Messages

/// Formats the samples and markers of one log.
///
/// Each record is preceded by the format's separator; `LogFile` drops it in front of the first record of a JSON log. Timestamps
/// are seconds since the session's start: uptime less `origin`, the publisher's uptime at that moment, rounded to whole
/// nanoseconds. Each row gets the step that was valid at its own time, and rows taken during a pause are left out. A row whose
/// uptime is no time (NaN, or further than 146 years) is kept, in the current step, with a timestamp of NaN.
///
/// Numbers have the shortest digits that read back as the same value; numbers that arrived as JSON are copied unchanged. NaN and
/// infinities are words, in JSON in quotes; `null` stays `null` in JSON and is an empty field in a table.
///
/// Values of a stream of records are copied unchanged too, arrays and objects without their blanks. In a table, a text is written
/// without its JSON escapes, an empty one as two quotes, and a value of the type `json` as its JSON text.
///
/// In an added format, each record is formatted as JSON first, and the `LogFormatter` turns that into a line.
///
/// The formatter remembers how the last row's step is written: keep one per log. Formatting does not allocate, apart from the
/// growth of the buffer and of the memory for uptimes, pauses, and changes of the step.
package struct RecordFormatter: Sendable {
    package let format: LogFormat
    /// The `sensorType` of each sample: the stream's name.
    package let sensorType: String
    /// The names of a record's columns after `uptime`, as they are written. A name that is already taken gets "_" appended.
    package let fields: [String]
    /// The types of a row's columns, in a stream of records; nil if all are numbers.
    package let types: [FieldType]?

    /// Writes records of an added format.
    private let formatter: (any LogFormatter)?
    /// The format in which records are written before `formatter` converts them.
    private var written: LogFormat { formatter == nil ? format : .json }

    private static let leading = ["uptime", "timestamp", "stepPath", "sensorType"]
    private static let numericTrailing = [
        "timestampDate", "marker", "epoch", "from", "count", "reason", "device", "unit", "rate",
    ]
    private static let recordTrailing = numericTrailing + ["types"]

    /// The step path in `pieces`.
    private var stepPath = ""
    private var pieces = RecordPieces([])
    private var uptimes: [Double] = []

    /// - Parameters:
    ///   - fields: the columns of a row on the wire; the first is `uptime`.
    ///   - types: a type for each field, in a stream of records.
    package init(format: LogFormat, sensorType: String, fields: [String], types: [FieldType]? = nil) {
        precondition(!fields.isEmpty, "A row has an uptime.")
        self.format = format
        formatter = format.formatter
        self.sensorType = sensorType
        self.types = types.map { types in fields.indices.map { FieldType.type(of: $0, in: types) } }
        var taken = Set(Self.leading + (types == nil ? Self.numericTrailing : Self.recordTrailing))
        self.fields = fields.dropFirst().map { field in
            var name = field
            while !taken.insert(name).inserted { name += "_" }
            return name
        }
        pieces = RecordPieces(rowPieces)
    }

    /// The first line of a table, without a line feed.
    package var header: String {
        let names = Self.leading + fields + trailing
        return formatter?.header(of: names) ?? names.map(tableText).joined(separator: delimiter)
    }

    // MARK: Samples

    /// The bytes of a row besides its values, in the step of the last row. An added format may need more or fewer.
    package var rowText: Int { pieces.textCount }

    /// Formats rows of a packed batch.
    ///
    /// - Parameters:
    ///   - packed: rows of little-endian Float64 values, uptime first, at any alignment.
    ///   - rows: the rows to format; they must lie within `packed`.
    ///   - timeline: the session's steps and pauses.
    ///   - origin: the publisher's uptime at the session's start, in nanoseconds.
    package mutating func append(
        packed: UnsafeRawBufferPointer, rows: Range<Int>, timeline: SessionTimeline, origin: Int64,
        to buffer: inout ByteBuffer
    ) -> FormattedRows {
        guard let formatter else {
            return write(packed: packed, rows: rows, timeline: timeline, origin: origin, to: &buffer)
        }
        var objects = ByteBuffer(capacity: 0)
        let result = write(packed: packed, rows: rows, timeline: timeline, origin: origin, to: &objects)
        Self.append(objects, asLinesOf: formatter, separator: format.separator, to: &buffer)
        return result
    }

    private mutating func write(
        packed: UnsafeRawBufferPointer, rows: Range<Int>, timeline: SessionTimeline, origin: Int64,
        to buffer: inout ByteBuffer
    ) -> FormattedRows {
        let columns = fields.count + 1
        precondition(
            rows.lowerBound >= 0 && rows.upperBound <= packed.count / (columns * 8), "Rows lie within their batch.")
        var result = beginRows(rows.count)
        var index = rows.lowerBound
        while index < rows.upperBound {
            let first = index
            var row = PackedRow(index, of: packed, columns: columns)
            var time = Self.time(row[0], since: origin)
            let (times, isPaused) = look(up: time, in: timeline)
            result.turn(paused: isPaused, row: index)
            withWriter { writer in
                repeat {
                    if !isPaused { writer.append(row, timestamp: Self.seconds(time), to: &buffer) }
                    index += 1
                    if index == rows.upperBound { return }
                    row = PackedRow(index, of: packed, columns: columns)
                    time = Self.time(row[0], since: origin)
                } while times.contains(time)
            }
            if isPaused {
                result.paused += index - first
            } else {
                for row in first..<index { result.uptimes.append(PackedRow(row, of: packed, columns: columns)[0]) }
            }
        }
        uptimes = result.uptimes
        return result
    }

    /// Formats rows of a JSON batch, with their digits unchanged.
    ///
    /// - Parameters:
    ///   - values: the range of the batch's array of rows in `frame`.
    ///   - count: the number of rows that the batch states.
    ///   - rows: the rows to format.
    ///   - timeline, origin: as for packed rows.
    /// - Throws: if the array is malformed, even outside of `rows`; then nothing was appended.
    package mutating func append(
        values: Range<Int>, of frame: UnsafeRawBufferPointer, count: Int, rows: Range<Int>, timeline: SessionTimeline,
        origin: Int64, to buffer: inout ByteBuffer
    ) throws(MessageError) -> FormattedRows {
        guard let formatter else {
            return try write(
                values: values, of: frame, count: count, rows: rows, timeline: timeline, origin: origin, to: &buffer)
        }
        var objects = ByteBuffer(capacity: 0)
        let result = try write(
            values: values, of: frame, count: count, rows: rows, timeline: timeline, origin: origin, to: &objects)
        Self.append(objects, asLinesOf: formatter, separator: format.separator, to: &buffer)
        return result
    }

    private mutating func write(
        values: Range<Int>, of frame: UnsafeRawBufferPointer, count: Int, rows: Range<Int>, timeline: SessionTimeline,
        origin: Int64, to buffer: inout ByteBuffer
    ) throws(MessageError) -> FormattedRows {
        precondition(rows.lowerBound >= 0 && rows.upperBound <= count, "Rows lie within their batch.")
        let start = buffer.count
        let isOfRecords = types != nil
        let columnTypes = types ?? []
        do throws(MessageError) {
            var result = beginRows(rows.count)
            var source = SampleRows(frame, values: values, columns: fields.count + 1, types: types)
            var hasRow = try source.next()
            while hasRow {
                var uptime = source.number(0)
                var time = Self.time(uptime, since: origin)
                let (times, isPaused) = look(up: time, in: timeline)
                var isTurn = true
                try withWriter { writer throws(MessageError) in
                    repeat {
                        if rows.contains(source.rowCount - 1) {
                            if isTurn {
                                result.turn(paused: isPaused, row: source.rowCount - 1)
                                isTurn = false
                            }
                            if isPaused {
                                result.paused += 1
                            } else {
                                if isOfRecords {
                                    writer.append(
                                        record: source, columnTypes, of: frame, timestamp: Self.seconds(time),
                                        to: &buffer)
                                } else {
                                    writer.append(source, of: frame, timestamp: Self.seconds(time), to: &buffer)
                                }
                                result.uptimes.append(uptime)
                            }
                        }
                        hasRow = try source.next()
                        if !hasRow { return }
                        uptime = source.number(0)
                        time = Self.time(uptime, since: origin)
                    } while times.contains(time)
                }
            }
            if source.rowCount != count {
                throw MessageError(.malformed, "\"values\" has \(source.rowCount) rows, not \(count) as \"count\" says")
            }
            uptimes = result.uptimes
            return result
        } catch {
            buffer.truncate(to: start)
            throw error
        }
    }

    /// Appends JSON records, each after its separator, as lines.
    private static func append(
        _ objects: borrowing ByteBuffer, asLinesOf formatter: any LogFormatter, separator: String,
        to buffer: inout ByteBuffer
    ) {
        objects.withUnsafeBytes { bytes in
            let gap = LogFormat.json.separator.utf8.count
            var start = gap
            while start < bytes.count {
                // JSON strings contain no line feed.
                let next = bytes[start...].firstIndex(of: UInt8(ascii: "\n")).map { $0 - gap + 1 } ?? bytes.count
                buffer.append(utf8: separator)
                formatter.append(UnsafeRawBufferPointer(rebasing: bytes[start..<next]), to: &buffer)
                start = next + gap
            }
        }
    }

    /// A result for `count` rows, in the memory of the last result.
    private mutating func beginRows(_ count: Int) -> FormattedRows {
        var result = FormattedRows()
        swap(&result.uptimes, &uptimes)
        result.uptimes.removeAll(keepingCapacity: true)
        result.uptimes.reserveCapacity(count)
        return result
    }

    // MARK: Markers

    /// Formats a marker.
    ///
    /// - Parameter origin: the publisher's uptime at the session's start, in nanoseconds.
    package func append(_ marker: Marker, origin: Int64, to buffer: inout ByteBuffer) {
        guard let formatter else { return write(marker, origin: origin, to: &buffer) }
        var object = ByteBuffer(capacity: 0)
        write(marker, origin: origin, to: &object)
        Self.append(object, asLinesOf: formatter, separator: format.separator, to: &buffer)
    }

    private func write(_ marker: Marker, origin: Int64, to buffer: inout ByteBuffer) {
        let uptime = Double(origin &+ marker.time) / 1e9
        let timestamp = Double(marker.time) / 1e9
        if written == .json {
            buffer.append(utf8: "\(written.separator){\"uptime\":")
            buffer.append(json: uptime)
            buffer.append(utf8: ",\"timestamp\":")
            buffer.append(json: timestamp)
            buffer.append(utf8: ",\"stepPath\":")
            buffer.append(jsonString: marker.stepPath)
            for (name, value) in zip(trailing, trailingValues(of: marker)) {
                guard let value else { continue }
                buffer.append(utf8: ",\"\(name)\":")
                switch value {
                case .text(let text): buffer.append(jsonString: text)
                case .integer(let integer): buffer.append(integer)
                case .number(let number): buffer.append(json: number)
                }
            }
            buffer.append(UInt8(ascii: "}"))
        } else {
            buffer.append(utf8: format.separator)
            buffer.append(text: uptime)
            buffer.append(format.delimiter)
            buffer.append(text: timestamp)
            // No sensorType and no fields.
            buffer.append(utf8: delimiter + tableText(marker.stepPath) + delimiter)
            for _ in fields { buffer.append(format.delimiter) }
            for value in trailingValues(of: marker) {
                buffer.append(format.delimiter)
                switch value {
                case nil: continue
                case .text(let text): buffer.append(utf8: tableText(text))
                case .integer(let integer): buffer.append(integer)
                case .number(let number): buffer.append(text: number)
                }
            }
        }
    }

    private enum MarkerValue {
        case text(String)
        case integer(Int)
        case number(Double)
    }

    private var trailing: [String] { types == nil ? Self.numericTrailing : Self.recordTrailing }

    /// A value for each of `trailing`.
    private func trailingValues(of marker: Marker) -> [MarkerValue?] {
        var gap: Gap?
        var reason: String?
        switch marker.event {
        case .gap(let missing): (gap, reason) = (missing, missing.reason.rawValue)
        case .annotation(let label): reason = label
        default: break
        }
        let header = marker.description
        let values: [MarkerValue?] = [
            .text(marker.date), .text(marker.event.name),
            (gap?.epoch ?? marker.position?.epoch).map { .text($0) },
            (gap?.from ?? marker.position?.next).map { .integer($0) }, (gap?.count).map { .integer($0) },
            reason.map { .text($0) }, (header?.device).map { .text($0) },
            (header?.unit).map { .text($0) }, (header?.rate).map { .number($0) },
        ]
        guard let types else { return values }
        return values + [header.map { _ in .text(types.dropFirst().map(\.rawValue).joined(separator: " ")) }]
    }

    // MARK: Parts

    private var delimiter: String { format == .tsv ? "\t" : "," }

    private func tableText(_ text: String) -> String {
        TableText.quoted(text, delimiter: format.delimiter)
    }

    /// The constant text before uptime, timestamp and each field, and after the last field.
    private var rowPieces: [String] {
        var between: [String]
        let opening: String
        let beforeTimestamp: String
        var step: String
        if written == .json {
            opening = "\(written.separator){\"uptime\":"
            beforeTimestamp = ",\"timestamp\":"
            step = ",\"stepPath\":\(Self.jsonText(stepPath)),\"sensorType\":\(Self.jsonText(sensorType))"
            between = fields.map { ",\(Self.jsonText($0)):" } + ["}"]
        } else {
            opening = format.separator
            beforeTimestamp = delimiter
            step = delimiter + tableText(stepPath) + delimiter + tableText(sensorType)
            between = fields.map { _ in delimiter }
            between.append(String(repeating: delimiter, count: trailing.count))
        }
        step += between.removeFirst()
        return [opening, beforeTimestamp, step] + between
    }

    private static func jsonText(_ text: String) -> String {
        var buffer = ByteBuffer(capacity: text.utf8.count + 2)
        buffer.append(jsonString: text)
        return buffer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    /// Switches the pieces to the state at `time`.
    ///
    /// - Returns: the times over which that state is the same, and whether it is a pause.
    private mutating func look(
        up time: Int64, in timeline: SessionTimeline
    ) -> (times: ClosedRange<Int64>, isPaused: Bool) {
        let (times, state) = timeline.span(at: time)
        if state.stepPath != stepPath {
            stepPath = state.stepPath
            pieces = RecordPieces(rowPieces)
        }
        return (times, state.isPaused)
    }

    @inline(__always)
    private func withWriter<Failure: Error>(_ body: (RowWriter) throws(Failure) -> Void) throws(Failure) {
        try pieces.withLent { lent throws(Failure) in
            try body(
                RowWriter(pieces: lent, format: written, fieldCount: fields.count, pieceRoom: pieces.byteCount))
        }
    }

    /// Nanoseconds since the session's start; `.max` if the uptime is no time.
    @inline(__always)
    private static func time(_ uptime: Double, since origin: Int64) -> Int64 {
        let nanoseconds = (uptime * 1e9).rounded()
        guard nanoseconds.magnitude < 0x1p62 else { return .max }
        return Int64(nanoseconds) &- origin
    }

    @inline(__always)
    private static func seconds(_ time: Int64) -> Double {
        time == .max ? .nan : Double(time) / 1e9
    }
}

extension FormattedRows {
    /// Notes that rows from here on are written, or left out.
    fileprivate mutating func turn(paused isPaused: Bool, row: Int) {
        if endsPaused, !isPaused { places.append(Place(row: row, written: written)) }
        endsPaused = isPaused
    }
}
