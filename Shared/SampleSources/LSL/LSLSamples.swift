import Messages

/// Decodes the samples of an LSL outlet from the bytes of its connection, in chunks of any size (liblsl, sample.cpp,
/// `load_streambuf`). The first two are test samples, which show whether both sides use the same encoding.
package struct LSLSamples: Sendable {
    private static let longestRecord = RecordValues.maximumRecordBytes
    /// The time of the two test samples, in seconds.
    private static let testTime = 123_456.789

    private let format: LSLFormat
    private let channels: Int
    private let fields: [String]
    private let types: [FieldType]?
    /// Seconds between samples without times of their own; 0 if there is no rate.
    private let interval: Double
    private let isBigEndian: Bool
    private var bytes: [UInt8] = []
    private var index = 0
    private var last = 0.0
    /// The number of test samples received.
    private var tested = 0

    package init(of outlet: LSLInfo, isBigEndian: Bool) {
        format = outlet.format
        channels = outlet.channelCount
        fields = outlet.fields
        types = outlet.types
        interval = outlet.rate.map { 1 / $0 } ?? 0
        self.isBigEndian = isBigEndian
    }

    /// Takes bytes, and returns the samples that they complete, with times on the outlet's clock.
    /// - Throws: `invalidInput` if they are not samples. The connection is then unusable.
    package mutating func take(_ chunk: some Collection<UInt8>) throws(PublisherError) -> PushedRows {
        bytes.removeFirst(index)
        index = 0
        bytes += chunk
        var rows = PushedRows(fields: fields, types: types)
        var numbers: [Double] = []
        while true {
            let start = index
            numbers.removeAll(keepingCapacity: true)
            guard let time = try time(), let record = try values(into: &numbers) else {
                index = start
                return rows
            }
            last = time
            guard tested == 2 else {
                try test(numbers, record, at: time)
                continue
            }
            guard let nanoseconds = Nanoseconds.from(seconds: time) else {
                throw PublisherError(.invalidInput, "a sample of the outlet has the time \(time)")
            }
            if types == nil {
                rows.append(numbers, time: nanoseconds)
            } else {
                rows.append(record: record, time: nanoseconds)
            }
        }
    }

    /// Compares one of the two test samples with the expected one.
    private mutating func test(_ numbers: [Double], _ record: [UInt8], at time: Double) throws(PublisherError) {
        let pattern = tested == 0 ? 4 : 2
        let expected = (0..<channels).map { format.testValue(of: $0, pattern: pattern) }
        let isRight =
            switch format {
            case .string: record == Array(expected.map { "\"\($0)\"" }.joined(separator: ",").utf8)
            case .int64: record == Array(expected.map(String.init).joined(separator: ",").utf8)
            case .float32, .double64, .int8, .int16, .int32: numbers == expected.map(Double.init)
            }
        guard isRight, time == Self.testTime else {
            throw PublisherError(
                .invalidInput,
                "the outlet's test sample \(tested + 1) is not the one of LSL: its version can't be understood")
        }
        tested += 1
    }

    // MARK: Bytes

    /// A sample's time; nil if its bytes are incomplete.
    private mutating func time() throws(PublisherError) -> Double? {
        guard index < bytes.count else { return nil }
        let tag = bytes[index]
        index += 1
        switch tag {
        case 1: return last + interval
        case 2: return integer(ofSize: 8).map(Double.init(bitPattern:))
        default:
            throw PublisherError(.invalidInput, "a sample of the outlet begins with \(tag), which means nothing in LSL")
        }
    }

    /// An unsigned integer of `size` bytes; nil if they are incomplete.
    private mutating func integer(ofSize size: Int) -> UInt64? {
        guard bytes.count - index >= size else { return nil }
        var word: UInt64 = 0
        for place in 0..<size {
            let byte = UInt64(bytes[index + place])
            word |= byte << UInt64(8 * (isBigEndian ? size - 1 - place : place))
        }
        index += size
        return word
    }

    /// A sample's values: numbers, or the text of a record. Nil if their bytes are incomplete.
    private mutating func values(into numbers: inout [Double]) throws(PublisherError) -> [UInt8]? {
        guard let size = format.size else { return try texts() }
        guard bytes.count - index >= size * channels else { return nil }
        var record: [UInt8] = []
        for channel in 0..<channels {
            guard let word = integer(ofSize: size) else { return nil }
            switch format {
            case .float32: numbers.append(Double(Float(bitPattern: UInt32(truncatingIfNeeded: word))))
            case .double64: numbers.append(Double(bitPattern: word))
            case .int8: numbers.append(Double(Int8(truncatingIfNeeded: word)))
            case .int16: numbers.append(Double(Int16(truncatingIfNeeded: word)))
            case .int32: numbers.append(Double(Int32(truncatingIfNeeded: word)))
            case .int64, .string:
                if channel > 0 { record.append(UInt8(ascii: ",")) }
                record += String(Int64(bitPattern: word)).utf8
            }
        }
        return record
    }

    private mutating func texts() throws(PublisherError) -> [UInt8]? {
        var record = ByteBuffer(capacity: 64)
        var total = 0
        for channel in 0..<channels {
            guard index < bytes.count else { return nil }
            let size = Int(bytes[index])
            index += 1
            guard [1, 2, 4, 8].contains(size) else {
                throw PublisherError(
                    .invalidInput, "a text of the outlet has a length of \(size) bytes, which means nothing in LSL")
            }
            guard let given = integer(ofSize: size) else { return nil }
            let length = Int(clamping: given)
            total += min(length, Self.longestRecord)
            guard length <= Self.longestRecord, total <= Self.longestRecord else {
                throw PublisherError(
                    .invalidInput, "a text of the outlet has \(given) bytes: a sample has at most 1 MiB")
            }
            guard bytes.count - index >= length else { return nil }
            if channel > 0 { record.append(UInt8(ascii: ",")) }
            record.append(jsonString: String(decoding: bytes[index..<index + length], as: UTF8.self))
            index += length
        }
        return record.withUnsafeBytes { Array($0) }
    }
}
