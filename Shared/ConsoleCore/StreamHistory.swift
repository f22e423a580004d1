package import Messages
import SessionOverview

/// A plot of the samples that a publisher still has of a stream, built up from its replies.
package struct StreamHistory: Sendable {
    private static let maximumColumns = 8_192

    private let name: StreamName
    private let range: Range<Int64>
    private let columns: Int
    private let fields: [String]
    /// The indices of the numeric columns on the wire, without `uptime`.
    private let numeric: [Int]
    private let types: [FieldType]?
    private var envelope: Envelope
    private var gaps: [(from: Int64?, to: Int64?)] = []
    private var lastTime: Int64?
    /// The sample after the last one taken; nil before the first.
    package private(set) var next: Int?

    /// - Parameters:
    ///   - range: in nanoseconds since 1970; nil for all.
    ///   - columns: the plot's number of columns.
    package init(_ stream: StreamDescription, _ range: Range<Int64>?, columns: Int) {
        name = stream.name
        self.range = range ?? .min..<Int64.max
        self.columns = columns
        types = stream.types
        numeric = (1..<max(1, stream.fields.count)).filter { FieldType.type(of: $0, in: stream.types) == .number }
        fields = numeric.map { stream.fields[$0] }
        envelope = Envelope(fields: numeric.count, maximumColumns: Self.maximumColumns)
    }

    /// Whether later samples no longer appear in the plot.
    package var isBehindItsEnd: Bool { lastTime.map { $0 >= range.upperBound } ?? false }

    /// Takes the frames of a reply to `samples.replay`.
    /// - Throws: `MessageError` if something can't be read.
    package mutating func take(_ frames: ArraySlice<[UInt8]>) throws(MessageError) {
        var fault: MessageError?
        // Everything thrown inside reaches the second closure.
        try? ReceivedBatch.forEach(inReplay: frames) { batch, _ in
            try take(batch)
        } unreadable: {
            fault = $0
        }
        if let fault { throw fault }
    }

    private mutating func take(_ batch: ReceivedBatch) throws(MessageError) {
        let names = try batch.fields
        try batch.check { () throws(MessageError) in names.count }
        guard batch.isOf(name), numeric.allSatisfy({ $0 < names.count }) else {
            throw MessageError(.wrongColumns, "the replay has other fields than the stream")
        }
        let clock = try SampleBody.clock(at: batch.body.clock, in: batch.frame)
        var isFirst = next.map { batch.body.sequence > $0 } ?? false
        func add(_ uptime: Double, _ value: (Int) -> Double) {
            let time = clock.nanosecondsSince1970(atUptime: uptime)
            if isFirst, range.contains(time) { gaps.append((lastTime, time)) }
            isFirst = false
            lastTime = time
            if range.contains(time) { envelope.add(at: time) { value(numeric[$0]) } }
        }
        if let packed = batch.packed {
            for row in 0..<batch.body.count {
                func number(_ column: Int) -> Double {
                    packed.packedNumber(row * names.count + column)
                }
                add(number(0), number)
            }
        } else if let values = batch.body.values {
            var rows = SampleRows(batch.frame, values: values, columns: names.count, types: try batch.types)
            while try rows.next() { add(rows.number(0)) { rows.number($0) } }
        }
        next = batch.body.sequence + batch.body.count
    }

    package var text: [UInt8] {
        let part = envelope.part(nil, columns: columns)
        return PlotText.json(of: name, fields: fields, part, gaps: gaps, start: 0)
    }
}
