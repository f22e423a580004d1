package import Messages

/// An item that a decoder finds in a file, in the order of the file.
package enum Decoded: Hashable, Sendable {
    /// The streams of the file, before any other item; and the date of the first sample, in nanoseconds since 1970 in UTC.
    case streams([ImportedStream], start: Int64)
    /// Samples of a stream of numbers; `stream` is the index of the stream.
    case samples(stream: Int, SampleBlock)
    /// A sample of a table: JSON values separated by commas, with its date in nanoseconds since 1970.
    case record(stream: Int, time: Int64, values: [UInt8])
    /// Samples missing from the file; 0 if their number is unknown.
    case gap(stream: Int, count: Int, Gap.Reason)
    /// Samples repeated in the file.
    case duplicates(stream: Int, count: Int)
    /// Later samples belong to another run of the device, which restarted its numbers.
    case run(String)
    /// The device stopped sampling as intended.
    case pause(at: Int64)
    /// The device resumed sampling.
    case resume(at: Int64)
    /// Another problem of the file, as a sentence for people.
    case failure(String)
}

package struct ImportedStream: Hashable, Sendable {
    package var name: StreamName
    /// The columns after the uptime.
    package var fields: [String]
    /// The types of the values; nil if all are numbers.
    package var types: [FieldType]?
    package var unit: String?
    /// The configured samples per second of the device.
    package var rate: Double?
    /// The first run of the device.
    package var run: String
    /// Whether a sensor measured the data; nil if that is unknown, as for a table.
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

/// Consecutive samples.
package struct SampleBlock: Hashable, Sendable {
    /// The time of each sample, in nanoseconds since 1970 in UTC.
    package var times: [Int64]
    /// The values of each sample, one after the other.
    package var values: [Double]

    package init(times: [Int64] = [], values: [Double] = []) {
        self.times = times
        self.values = values
    }
}
