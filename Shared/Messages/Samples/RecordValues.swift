/// The values of consecutive records of a stream, as JSON text: each row without its uptime.
///
/// The text is the source's own, without blanks between the values, so that no digit is lost.
public struct RecordValues: Hashable, Sendable {
    /// Some of the records.
    public struct Rows: Hashable, Sendable {
        fileprivate let values: RecordValues
        fileprivate let range: Range<Int>

        /// The number of records.
        public var count: Int { range.count }

        /// The size of their values, in bytes.
        public var byteCount: Int { values.byteCount(of: range) }

        /// Lends a record's values, separated by commas.
        func withBytes(ofRow row: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
            let row = range.lowerBound + row
            precondition(range.contains(row), "a row lies within its batch")
            values.text.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[values.extent(of: row..<row + 1)])) }
        }
    }

    /// The maximum size of one record's values, in bytes.
    public static let maximumRecordBytes = 1 << 20
    /// The size of a batch's values, in bytes, from which on further records go into the next batch.
    public static let maximumBatchBytes = 1 << 20

    /// The values of all records; commas separate those of one record.
    private var text: [UInt8] = []
    /// The end of each record in `text`.
    private var ends: [Int] = []

    /// Creates an empty batch.
    public init() {}

    /// Copies the records of `rows`.
    public init(_ rows: Rows) {
        for row in 0..<rows.count { rows.withBytes(ofRow: row) { append($0) } }
    }

    /// The number of records.
    public var count: Int { ends.count }

    /// Whether the next record belongs in the next batch.
    public var isFull: Bool { byteCount >= Self.maximumBatchBytes }

    /// The size of the values, in bytes.
    public var byteCount: Int { text.count }

    /// The memory that the records take, in bytes, without spare capacity.
    public var memory: Int { text.count + ends.count * MemoryLayout<Int>.stride }

    /// The same records without spare capacity.
    public var trimmed: Self {
        var trimmed = Self()
        (trimmed.text, trimmed.ends) = (text.trimmed, ends.trimmed)
        return trimmed
    }

    /// Adds a record.
    /// - Parameter values: valid JSON values, separated by commas.
    public mutating func append(_ values: some Collection<UInt8>) {
        text += values
        ends.append(text.count)
    }

    /// Removes all records and keeps the memory.
    public mutating func removeAll() {
        text.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }

    /// A record's values, separated by commas.
    package func bytes(ofRow row: Int) -> [UInt8] { Array(text[extent(of: row..<row + 1)]) }

    /// Some of the records; the range must lie within the batch.
    public subscript(range: Range<Int>) -> Rows {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "rows lie within their batch")
        return Rows(values: self, range: range)
    }

    /// All records.
    public var all: Rows { self[0..<count] }

    /// The size of some records' values, in bytes.
    public func byteCount(of range: Range<Int>) -> Int { extent(of: range).count }

    fileprivate func extent(of range: Range<Int>) -> Range<Int> {
        let start = range.lowerBound == 0 ? 0 : ends[range.lowerBound - 1]
        return start..<(range.isEmpty ? start : ends[range.upperBound - 1])
    }
}
