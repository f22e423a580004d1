import Messages

/// Samples of a stream that are sent together: consecutive batches are joined, column by column.
///
/// A stream that is denser than a screen is reduced to the minimum and maximum of each hundredth of a second.
struct PendingSamples {
    /// Above this rate, in samples per second, no plot shows single samples.
    static let densestRate = 250.0
    /// The width of a time column in a dense stream, in nanoseconds.
    private static let columnWidth: Int64 = 10_000_000

    /// The samples' fields without `uptime`.
    private let names: [String]
    /// Which fields are numbers.
    private let areNumbers: [Bool]
    private let types: [FieldType]?
    private let epoch: String
    private let first: Int
    private(set) var count = 0
    /// Texts have no minimum: a stream with texts is sent unreduced.
    private let isDense: Bool
    /// The contents of each field's JSON array, without the brackets.
    private var texts: [[UInt8]]
    /// In a dense stream, the minimum and maximum of each field in each time column.
    private var extremes: [[(least: Double, most: Double)]]
    /// When each sample was taken, or when each time column begins, in nanoseconds since 1970.
    private var times: [Int64] = []
    /// When the last batch arrived.
    private var received: Int64

    /// - Parameter fields: including `uptime`, which is the first.
    init(
        epoch: String, first: Int, fields: [String], types: [FieldType]?, isDense: Bool, received: Int64
    ) {
        self.epoch = epoch
        self.first = first
        self.received = received
        self.types = types
        names = Array(fields.dropFirst())
        areNumbers = types.map { $0.dropFirst().map { $0 == .number } } ?? names.map { _ in true }
        self.isDense = isDense && types == nil
        texts = names.map { _ in [] }
        extremes = names.map { _ in [] }
    }

    /// The number of the next sample after these.
    var next: Int { first + count }

    /// When the first sample was taken, in nanoseconds since 1970.
    private(set) var firstTime: Int64?
    /// When the last sample was taken, in nanoseconds since 1970.
    private(set) var lastTime: Int64?

    /// Appends rows of a batch, in order. If one can't be read, none is appended.
    mutating func append(_ rows: Range<Int>, of batch: ReceivedBatch, received: Int64) throws(MessageError) {
        let clock = try SampleBody.clock(at: batch.body.clock, in: batch.frame)
        let (time, lengths, columns, moment) = (times.count, texts.map(\.count), isDense ? extremes : [], lastTime)
        do throws(MessageError) {
            if let packed = batch.packed {
                for row in rows { append(row, of: packed, clock) }
            } else if let text = batch.body.values {
                var cells = SampleRows(batch.frame, values: text, columns: names.count + 1, types: types)
                while try cells.next() {
                    if rows.contains(cells.rowCount - 1) { append(cells, batch.frame, clock) }
                }
                guard cells.rowCount == batch.body.count else {
                    throw MessageError(
                        .malformed, "\"values\" has \(cells.rowCount) rows, and \"count\" says \(batch.body.count)")
                }
            }
        } catch {
            times.removeSubrange(time...)
            for (field, length) in lengths.enumerated() { texts[field].removeSubrange(length...) }
            if isDense { extremes = columns }
            lastTime = moment
            throw error
        }
        count += rows.count
        self.received = received
    }

    private mutating func append(_ row: Int, of packed: UnsafeRawBufferPointer, _ clock: ClockReading) {
        func number(_ column: Int) -> Double {
            packed.packedNumber(row * (names.count + 1) + column)
        }
        let isNew = begin(clock.nanosecondsSince1970(atUptime: number(0)))
        for field in names.indices {
            if isDense {
                widen(field, number(field + 1), isNew)
            } else {
                var text = ByteBuffer(capacity: 32)
                text.append(numberOrNull: number(field + 1))
                text.withUnsafeBytes { append($0, to: field) }
            }
        }
    }

    private mutating func append(
        _ cells: borrowing SampleRows, _ frame: UnsafeRawBufferPointer, _ clock: ClockReading
    ) {
        let isNew = begin(clock.nanosecondsSince1970(atUptime: cells.number(0)))
        for field in names.indices {
            if isDense {
                widen(field, cells.number(field + 1), isNew)
                continue
            }
            let token = UnsafeRawBufferPointer(rebasing: frame[cells.token(field + 1)])
            // Non-finite values are spelled in quotes.
            if areNumbers[field], token.first == UInt8(ascii: "\"") {
                Self.null.withUnsafeBytes { append($0, to: field) }
            } else {
                append(token, to: field)
            }
        }
    }

    private static let null = Array("null".utf8)

    private mutating func append(_ token: UnsafeRawBufferPointer, to field: Int) {
        if !texts[field].isEmpty { texts[field].append(UInt8(ascii: ",")) }
        for byte in token { texts[field].append(EventText.oneLine(byte)) }
    }

    /// - Returns: whether a sample of this time begins a new time column.
    private mutating func begin(_ time: Int64) -> Bool {
        if lastTime == nil { firstTime = time }
        lastTime = time
        let start = isDense ? time - (time % Self.columnWidth + Self.columnWidth) % Self.columnWidth : time
        if isDense, times.last == start { return false }
        times.append(start)
        return true
    }

    private mutating func widen(_ field: Int, _ value: Double, _ isNew: Bool) {
        guard !isNew, let last = extremes[field].last else { return extremes[field].append((value, value)) }
        if value.isNaN { return }
        extremes[field][extremes[field].count - 1] =
            last.least.isNaN ? (value, value) : (min(last.least, value), max(last.most, value))
    }

    /// Approximate size of the values, in bytes.
    var byteCount: Int {
        texts.reduce(20 * times.count) { $0 + $1.count } + (isDense ? 32 * names.count * times.count : 0)
    }

    /// Appends the samples as a Server-Sent Event.
    func write(_ stream: StreamName, to buffer: inout ByteBuffer) {
        buffer.append(utf8: "event: samples\ndata: {\"device\":")
        buffer.append(jsonString: stream.device)
        buffer.append(utf8: #","stream":"#)
        buffer.append(jsonString: stream.stream)
        buffer.append(utf8: #","epoch":"#)
        buffer.append(jsonString: epoch)
        buffer.append(utf8: #","first":"#)
        buffer.append(first)
        buffer.append(utf8: #","count":"#)
        buffer.append(count)
        buffer.append(utf8: #","received":"#)
        buffer.append(unixTime: received)
        buffer.append(utf8: #","times":["#)
        for (index, time) in times.enumerated() {
            if index > 0 { buffer.append(UInt8(ascii: ",")) }
            buffer.append(unixTime: time)
        }
        buffer.append(utf8: isDense ? #"],"width":0.01,"columns":{"# : #"],"fields":{"#)
        for (field, name) in names.enumerated() {
            if field > 0 { buffer.append(UInt8(ascii: ",")) }
            buffer.append(jsonString: name)
            buffer.append(utf8: ":[")
            buffer.append(texts[field])
            for (place, pair) in extremes[field].enumerated() {
                buffer.append(utf8: place > 0 ? ",[" : "[")
                buffer.append(numberOrNull: pair.least)
                buffer.append(UInt8(ascii: ","))
                buffer.append(numberOrNull: pair.most)
                buffer.append(UInt8(ascii: "]"))
            }
            buffer.append(UInt8(ascii: "]"))
        }
        buffer.append(utf8: "}}\n\n")
    }
}
