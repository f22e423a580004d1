/// The values of records that follow each other in a stream, as JSON text: what stands in a row behind its uptime.
///
/// They are the source's own text, without blanks between the values, so that no digit is lost.
public struct RecordValues: Hashable, Sendable {
    /// Some of the records.
    public struct Rows: Hashable, Sendable {
        fileprivate let values: RecordValues
        fileprivate let range: Range<Int>

        /// How many there are.
        public var count: Int { range.count }

        /// How many bytes their values take.
        public var byteCount: Int { values.byteCount(of: range) }

        /// Lends a record's values, with commas between them.
        func withBytes(ofRow row: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
            let row = range.lowerBound + row
            precondition(range.contains(row), "a row lies within its batch")
            values.text.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[values.extent(of: row..<row + 1)])) }
        }
    }

    /// How long the values of one record may be, in bytes.
    public static let maximumRecordBytes = 1 << 20
    /// How long the values of a batch may get before another record goes into the next one, in bytes.
    public static let maximumBatchBytes = 1 << 20

    /// The values of all records, with commas between those of one.
    private var text: [UInt8] = []
    /// Where each record ends.
    private var ends: [Int] = []

    /// No record.
    public init() {}

    /// Records that are copied.
    public init(_ rows: Rows) {
        for row in 0..<rows.count { rows.withBytes(ofRow: row) { append($0) } }
    }

    /// How many records there are.
    public var count: Int { ends.count }

    /// Whether another record belongs into the next batch.
    public var isFull: Bool { byteCount >= Self.maximumBatchBytes }

    /// How many bytes their values take.
    public var byteCount: Int { text.count }

    /// How much memory they take, if they have no room for more.
    public var memory: Int { text.count + ends.count * MemoryLayout<Int>.stride }

    /// The same records without room for more.
    public var trimmed: Self {
        var trimmed = Self()
        (trimmed.text, trimmed.ends) = (text.trimmed, ends.trimmed)
        return trimmed
    }

    /// Adds a record.
    /// - Parameter values: JSON values with commas between them, all of which must be valid.
    public mutating func append(_ values: some Collection<UInt8>) {
        text += values
        ends.append(text.count)
    }

    /// Forgets all records.
    public mutating func removeAll() {
        text.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }

    /// A record's values, with commas between them.
    package func bytes(ofRow row: Int) -> [UInt8] { Array(text[extent(of: row..<row + 1)]) }

    /// Some of the records, which must be there.
    public subscript(range: Range<Int>) -> Rows {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "rows lie within their batch")
        return Rows(values: self, range: range)
    }

    /// All of them.
    public var all: Rows { self[0..<count] }

    /// How many bytes the values of some of the records take.
    public func byteCount(of range: Range<Int>) -> Int { extent(of: range).count }

    fileprivate func extent(of range: Range<Int>) -> Range<Int> {
        let start = range.lowerBound == 0 ? 0 : ends[range.lowerBound - 1]
        return start..<(range.isEmpty ? start : ends[range.upperBound - 1])
    }
}
