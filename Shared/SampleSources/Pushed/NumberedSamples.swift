package import Messages

/// Samples numbered by their client: `{"device": "m5", "stream": "accelerometer", "first": 0, "samples": [[t, x, y, z], …]}`.
package struct NumberedSamples: Hashable, Sendable {
    /// The most samples in one message.
    private static let maximumCount = 100_000
    /// The longest description of a stream, in bytes.
    private static let longestDescription = 500

    package var name: StreamName
    /// The client's name for this run of its numbers; nil if it gives none.
    package var epoch: String?
    /// The number of the first sample.
    package var first: Int
    /// The oldest sample that the client can still send; nil if it gives none.
    package var oldest: Int?
    /// The time of the client's clock when it sent the message, in nanoseconds; nil if it gives none.
    package var sentAt: Int64?
    package var unit: String?
    package var rate: Double?
    /// The client's description of the stream, such as the signs of its axes; nil if it gives none.
    package var description: String?
    /// Whether the client announces that no samples follow these.
    package var isLast: Bool
    package var rows: PushedRows

    package init(
        _ name: StreamName, epoch: String? = nil, first: Int, oldest: Int? = nil, sentAt: Int64? = nil,
        unit: String? = nil, rate: Double? = nil, description: String? = nil,
        isLast: Bool = false, rows: PushedRows
    ) {
        self.name = name
        self.epoch = epoch
        self.first = first
        self.oldest = oldest
        self.sentAt = sentAt
        self.unit = unit
        self.rate = rate
        self.description = description
        self.isLast = isLast
        self.rows = rows
    }

    /// The number after the last sample's.
    package var end: Int { first + rows.count }

    /// Reads a message.
    /// - Throws: `invalidInput` or `invalidParameter`, naming the part that is wrong.
    package init(_ body: [UInt8]) throws(PublisherError) {
        self = try body.withUnsafeBufferPointer { (bytes) throws(PublisherError) in
            try Self.read(JSONParts(UnsafeRawBufferPointer(bytes)))
        }
    }

    private static func read(_ parts: JSONParts) throws(PublisherError) -> NumberedSamples {
        var (device, stream, epoch, unit, description): (String?, String?, String?, String?, String?)
        var (first, oldest, sentAt, rate): (Int?, Int?, Int64?, Double?)
        var fields: [String]?
        var samples: Range<Int>?
        var isLast = false
        try parts.forEachMember(of: parts.whole, "the body") { (name, value) throws(PublisherError) in
            switch name {
            case "device": device = try parts.text(value, "device")
            case "stream": stream = try parts.text(value, "stream")
            case "epoch": epoch = try parts.text(value, "epoch")
            case "first": first = try parts.count(value, "first")
            case "oldest": oldest = try parts.count(value, "oldest")
            case "now": sentAt = try parts.time(value, "now")
            case "unit": unit = try parts.text(value, "unit")
            case "description": description = try parts.text(value, "description")
            case "rate": rate = try parts.number(value, "rate")
            case "fields":
                var names: [String] = []
                try parts.forEachElement(of: value, "fields") { (name) throws(PublisherError) in
                    names.append(try parts.text(name, "each of the fields"))
                }
                fields = names
            case "last": isLast = try parts.flag(value, "last")
            case "samples": samples = value
            default: break
            }
        }
        guard let device, let stream, let first, let samples else {
            throw PublisherError(.invalidInput, "the body needs device, stream, first and samples")
        }
        let name = try StreamName(pushed: device, stream)
        if let epoch { try StreamConfiguration.validate(name: epoch, of: "epoch") }
        try StreamConfiguration.validate(unit: unit)
        if let rate { _ = try SampleSchedule(rate: rate) }
        guard (description?.utf8.count ?? 0) <= longestDescription else {
            throw PublisherError(.invalidInput, "description is longer than \(longestDescription) bytes")
        }
        return NumberedSamples(
            name, epoch: epoch, first: first, oldest: oldest.map { min($0, first) }, sentAt: sentAt, unit: unit,
            rate: rate, description: description, isLast: isLast, rows: try rows(parts, samples, fields: fields))
    }

    private static func rows(
        _ parts: JSONParts, _ samples: Range<Int>, fields: [String]?
    ) throws(PublisherError) -> PushedRows {
        var read: PushedRows?
        var row: [Double] = []
        try parts.forEachElement(of: samples, "samples") { (sample) throws(PublisherError) in
            let index = read?.count ?? 0
            var time: Int64?
            row.removeAll(keepingCapacity: true)
            try parts.forEachElement(of: sample, "samples[\(index)]") { (value) throws(PublisherError) in
                if time == nil {
                    time = try parts.time(value, "the time of samples[\(index)]")
                } else {
                    row.append(try parts.number(value, "each value of samples[\(index)]"))
                }
            }
            if read == nil {
                let names = if let fields { fields } else { try defaultFields(row.count) }
                read = PushedRows(fields: names)
            }
            guard let time, row.count == read?.fields.count, index < maximumCount else {
                throw PublisherError(
                    .invalidInput,
                    "samples[\(index)] has \(row.count) values; give the time and \(read?.fields.count ?? 0) values, and at "
                        + "most \(maximumCount) samples")
            }
            read?.append(row, time: time)
        }
        guard let all = read else { throw PublisherError(.invalidInput, "samples is empty; send at least one sample") }
        let different = Set(all.fields)
        guard different.count == all.fields.count, !different.contains(""),
            all.fields.count <= FieldChoice.maximumCount, !all.fields.contains(where: FieldName.isTooLong),
            !different.contains(FieldOrder.reserved), !different.isEmpty
        else {
            throw PublisherError(
                .invalidParameter,
                "fields must be 1 to \(FieldChoice.maximumCount) different names of at most \(FieldName.maximumBytes) "
                    + "bytes, none of them \(FieldOrder.reserved)")
        }
        return all
    }

    private static func defaultFields(_ count: Int) throws(PublisherError) -> [String] {
        switch count {
        case 1: return ["value"]
        case 2: return ["x", "y"]
        case 3: return ["x", "y", "z"]
        default:
            throw PublisherError(.invalidInput, "a sample has \(count) values; name them with \"fields\"")
        }
    }
}
