package import Messages

/// What a decoder finds in a file, in the order of the file.
package enum Decoded: Hashable, Sendable {
    /// What the file has samples of, before anything else; and the date of the first, in nanoseconds since 1970 in UTC.
    case streams([ImportedStream], start: Int64)
    /// Samples of a stream of numbers, by the stream's number.
    case samples(stream: Int, SampleBlock)
    /// A sample of a table: JSON values with commas between them, at a date in nanoseconds since 1970.
    case record(stream: Int, time: Int64, values: [UInt8])
    /// Samples that the file should have; 0 if it is unknown how many.
    case gap(stream: Int, count: Int, Gap.Reason)
    /// Samples that the file has more than once.
    case duplicates(stream: Int, count: Int)
    /// What follows belongs to another run of the device, which numbers its samples anew.
    case run(String)
    /// The device stopped sampling, as it was meant to.
    case pause(at: Int64)
    /// It samples again.
    case resume(at: Int64)
    /// Something else is wrong with the file, in a sentence for a person.
    case failure(String)
}

/// A stream of a file.
package struct ImportedStream: Hashable, Sendable {
    package var name: StreamName
    /// The columns after the uptime.
    package var fields: [String]
    /// What their values are; nil if all are numbers.
    package var types: [FieldType]?
    package var unit: String?
    /// Samples per second as the device was set.
    package var rate: Double?
    /// The first run of the device.
    package var run: String
    /// Whether a sensor measured it; nil if nothing says so, as in a table.
    package var origin: DataOrigin?

    package init(
        _ name: StreamName, fields: [String], types: [FieldType]? = nil, unit: String?, rate: Double?, run: String,
        origin: DataOrigin? = .measured
    ) {
        self.name = name
        self.fields = fields
        self.types = types
        self.unit = unit
        self.rate = rate
        self.run = run
        self.origin = origin
    }
}

/// Samples that follow on one another.
package struct SampleBlock: Hashable, Sendable {
    /// When each was taken, in nanoseconds since 1970 in UTC.
    package var times: [Int64]
    /// The values of each, one after the other.
    package var values: [Double]

    package init(times: [Int64] = [], values: [Double] = []) {
        self.times = times
        self.values = values
    }
}
