/// A batch of samples of one stream, published under `samples/<device>/<stream>`: schema `samples.v1`.
///
/// This is the convenient form. If every microsecond counts, `SampleBatchEncoder` writes the same bytes, and `SampleBody` with
/// `SampleRows` reads them in place.
///
/// JSON spells NaN and the infinities as the strings `"NaN"`, `"Infinity"` and `"-Infinity"`; a `null` is read as NaN.
public struct SampleBatch: Event, Hashable {
    ///  The value of `schema`.
    public static let schema = "samples.v1"

    /// The name of the program that published the batch.
    public var source: String
    /// The index of the first sample in its epoch, counting samples.
    public var sequence: Int
    /// The device that was sampled.
    public var device: String
    /// The stream of that device: accelerometer, gyro, deviceMotion …
    public var stream: String
    /// A UUID, new at every start of the publisher.
    public var epoch: String
    /// The number of samples in the batch.
    public var count: Int
    /// The names of the columns; the first is `uptime`, in seconds on the publisher's monotonic clock.
    public var fields: [String]
    /// The types of the columns, in a stream of records; nil if all are numbers.
    public var types: [FieldType]?
    /// One instant on both of the publisher's clocks. If its machine slept after the last sample was taken, the date excludes
    /// that sleep, so that dates computed from uptimes are those of the samples.
    public var clock: ClockReading
    /// The samples, one row each with a value per field; nil if they are packed in a frame of their own, and in a stream of
    /// records.
    public var values: [[Double]]?
    /// The samples of a stream of records; in JSON also under `values`.
    public var records: [[JSONValue]]?

    /// Creates a batch.
    public init(
        source: String, sequence: Int, device: String, stream: String, epoch: String, count: Int, fields: [String],
        types: [FieldType]? = nil, clock: ClockReading, values: [[Double]]?, records: [[JSONValue]]? = nil
    ) {
        self.source = source
        self.sequence = sequence
        self.device = device
        self.stream = stream
        self.epoch = epoch
        self.count = count
        self.fields = fields
        self.types = types
        self.clock = clock
        self.values = values
        self.records = records
    }

    /// Always `samples.v1`.
    public var schema: String { Self.schema }

    /// `samples/<device>/<stream>`.
    public var topic: String { "\(TopicArea.samples)\(device)/\(stream)" }

    private enum CodingKeys: CodingKey {
        case clock, count, device, epoch, fields, schema, sequence, source, stream, types, values
    }

    /// Decodes a batch.
    /// - Throws: `DecodingError`, also for another schema.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let schema = try container.decode(String.self, forKey: .schema)
        guard schema == Self.schema else {
            throw DecodingError.dataCorruptedError(
                forKey: .schema, in: container, debugDescription: "\(Self.schema) was expected, not \(schema)")
        }
        source = try container.decode(String.self, forKey: .source)
        sequence = try container.decode(Int.self, forKey: .sequence)
        device = try container.decode(String.self, forKey: .device)
        stream = try container.decode(String.self, forKey: .stream)
        epoch = try container.decode(String.self, forKey: .epoch)
        count = try container.decode(Int.self, forKey: .count)
        fields = try container.decode([String].self, forKey: .fields)
        clock = try container.decode(ClockReading.self, forKey: .clock)
        types = try container.decodeIfPresent([FieldType].self, forKey: .types)
        if types == nil {
            values = try container.decodeIfPresent([[Value]].self, forKey: .values)?.map { $0.map(\.number) }
        } else {
            records = try container.decode([[JSONValue]].self, forKey: .values)
        }
    }

    /// Encodes a batch.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.schema, forKey: .schema)
        try container.encode(source, forKey: .source)
        try container.encode(sequence, forKey: .sequence)
        try container.encode(device, forKey: .device)
        try container.encode(stream, forKey: .stream)
        try container.encode(epoch, forKey: .epoch)
        try container.encode(count, forKey: .count)
        try container.encode(fields, forKey: .fields)
        try container.encode(clock, forKey: .clock)
        try container.encodeIfPresent(types, forKey: .types)
        try container.encodeIfPresent(values?.map { $0.map(Value.init) }, forKey: .values)
        try container.encodeIfPresent(records, forKey: .values)
    }

    /// A number, possibly NaN or infinite.
    private struct Value: Codable {
        var number: Double

        init(_ number: Double) {
            self.number = number
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                number = .nan
            } else if let number = try? container.decode(Double.self) {
                self.number = number
            } else {
                switch try container.decode(String.self) {
                case "NaN": number = .nan
                case "Infinity": number = .infinity
                case "-Infinity": number = -.infinity
                case let text:
                    throw DecodingError.dataCorruptedError(
                        in: container, debugDescription: "\"\(text)\" is not a number")
                }
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            if number.isFinite {
                try container.encode(number)
            } else {
                try container.encode(number.isNaN ? "NaN" : number > 0 ? "Infinity" : "-Infinity")
            }
        }
    }
}
