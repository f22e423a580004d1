package import Messages

/// Samples of one stream as a client sent them, with the times of the client's clock.
package struct PushedRows: Hashable, Sendable {
    /// The smallest distance between samples that have their arrival as time, in nanoseconds.
    private static let spacing: Int64 = 1_000

    /// The names of the values, without "uptime".
    package let fields: [String]
    /// The types of the values, in a stream of records; nil if all are numbers.
    package let types: [FieldType]?
    /// The time of each sample in nanoseconds.
    package private(set) var times: [Int64] = []
    /// The samples' numbers one after the other; empty in a stream of records.
    package private(set) var values: [Double] = []
    /// The samples' values in a stream of records.
    package private(set) var records = RecordValues()

    package init(fields: [String], types: [FieldType]? = nil) {
        self.fields = fields
        self.types = types
    }

    package var count: Int { times.count }

    /// Adds a sample of numbers: one for each field.
    package mutating func append(_ values: some Sequence<Double>, time: Int64) {
        times.append(time)
        self.values += values
    }

    /// Adds a record: its values as JSON, separated by commas.
    package mutating func append(record: [UInt8], time: Int64) {
        times.append(time)
        records.append(record)
    }

    /// Adds samples with the same fields. For samples of numbers.
    package mutating func append(contentsOf others: PushedRows) {
        times += others.times
        values += others.values
    }

    /// The samples after a time, sorted by time, without duplicates. For samples of numbers.
    /// - Parameter last: nil for all.
    package func sorted(after last: Int64?) -> PushedRows {
        let columns = fields.count
        var newest = last
        var isSorted = true
        for time in times {
            isSorted = isSorted && newest.map { $0 < time } ?? true
            newest = time
        }
        if isSorted { return self }
        var sorted = PushedRows(fields: fields, types: types)
        newest = last
        for index in times.indices.sorted(by: { times[$0] < times[$1] }) {
            guard newest.map({ $0 < times[index] }) ?? true else { continue }
            newest = times[index]
            sorted.append(values[index * columns..<(index + 1) * columns], time: times[index])
        }
        return sorted
    }

    /// The samples in their order, with each time at least a microsecond after the one before. For samples that have their
    /// arrival as time: several may have the same, so they cannot be sorted by it.
    /// - Parameter last: the time of the sample before; nil if there is none.
    package func spaced(after last: Int64?) -> PushedRows {
        var spaced = self
        var newest = last
        for index in times.indices {
            let time = newest.map { max(times[index], $0 + Self.spacing) } ?? times[index]
            spaced.times[index] = time
            newest = time
        }
        return spaced
    }

    // MARK: Types

    /// The same samples with the types of the stream's samples before, as far as those allow the values: `null` is of
    /// every type. Numbers become records if the samples before were records of numbers.
    /// - Parameters:
    ///   - fields: the fields before; if they differ, nothing changes.
    ///   - before: the types before; nil if all were numbers.
    package func following(_ fields: [String], _ before: [FieldType]?) -> PushedRows {
        guard fields == self.fields, before != types else { return self }
        guard let types else {
            let areNumbers = before?.allSatisfy { $0 == .number } ?? false
            return areNumbers ? asRecords : self
        }
        var wanted: [Int: FieldType] = [:]
        for column in types.indices where types[column] == .json {
            wanted[column] = FieldType.type(of: column, in: before)
        }
        for row in 0..<records.count {
            records.bytes(ofRow: row).withUnsafeBytes { bytes in
                var scanner = JSONScanner(bytes)
                for column in types.indices {
                    guard let value = try? scanner.skipValue() else { break }
                    _ = scanner.skip(UInt8(ascii: ","))
                    if let type = wanted[column], !type.accepts(UnsafeRawBufferPointer(rebasing: bytes[value])) {
                        wanted[column] = nil
                    }
                }
            }
        }
        var following = PushedRows(fields: fields, types: types.indices.map { wanted[$0] ?? types[$0] })
        (following.times, following.records) = (times, records)
        return following
    }

    /// Samples of numbers as records.
    private var asRecords: PushedRows {
        var result = PushedRows(fields: fields, types: fields.map { _ in .number })
        var record = ByteBuffer(capacity: 256)
        for (row, time) in times.enumerated() {
            record.removeAll()
            for column in fields.indices {
                if column > 0 { record.append(UInt8(ascii: ",")) }
                record.append(json: values[row * fields.count + column])
            }
            result.append(record: record.withUnsafeBytes { Array($0) }, time: time)
        }
        return result
    }
}
