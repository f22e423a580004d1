package import Messages

/// The source of a stream's samples: an array, a function, a file.
///
/// A source defines the samples and their times. It never waits and reads no clock: it is read batch by batch, and each sample is
/// held until its time. A source belongs to one stream. It need not be `Sendable` (a file has one position), and copies may share
/// it.
package protocol SampleSource {
    /// The names of a row's values, in order, without "uptime".
    var fields: [String] { get }

    /// The types of the values, in a source of records: the values are then JSON text, and a row has no number but its uptime.
    /// Nil if all are numbers.
    var types: [FieldType]? { get }

    /// The unit of the values, such as "g", "m/s2" or "rad/s"; nil if it is unknown.
    var unit: String? { get }

    /// The nominal rate in Hz; nil if there is none.
    var rate: Double? { get }

    /// A description for `stream.v1`: for a signal the specification from which any subscriber can compute it.
    var description: String { get }

    /// The sampled walk, whose true steps are known; nil for any other source.
    var walk: WalkSignal? { get }

    /// Appends the next sample's values to `row`, one for each field, and returns its time in nanoseconds since the
    /// stream's start; nil, with nothing appended, after the last one.
    ///
    /// - Throws: `PublisherError`, naming the file and line, with nothing appended. The source is then at its end.
    mutating func next(into row: inout [Double]) throws(PublisherError) -> Int64?

    /// Replaces `rows` by the next `count`, or by fewer at the end.
    mutating func read(_ count: Int, into rows: inout SourceRows)

    /// Goes back to the first sample.
    mutating func rewind() throws(PublisherError)
}

extension SampleSource {
    package var walk: WalkSignal? { nil }
    package var types: [FieldType]? { nil }

    // Also a requirement, so that the loop over the samples is compiled for each kind of source.
    package mutating func read(_ count: Int, into rows: inout SourceRows) { readNumbers(count, into: &rows) }

    /// Reads rows of numbers.
    mutating func readNumbers(_ count: Int, into rows: inout SourceRows) {
        rows.reset(count * (1 + fields.count))
        while rows.times.count < count {
            rows.values.append(0)
            do throws(PublisherError) {
                if let time = try next(into: &rows.values) {
                    rows.times.append(time)
                    continue
                }
                rows.end = .last
            } catch {
                rows.end = .failed(error)
            }
            rows.values.removeLast()
            return
        }
    }
}
