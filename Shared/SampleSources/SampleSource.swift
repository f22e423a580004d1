package import Messages

/// Where the samples of a stream come from: an array, a function, a file.
///
/// A source says what is sampled and when, never waits and knows no clock: it is read batch by batch, and each sample is
/// held until its time. A source belongs to one stream. It need not be `Sendable` (a file has one position), and a copy may
/// share that position.
package protocol SampleSource {
    /// The names of a row's values, in order, without "uptime".
    var fields: [String] { get }

    /// What the values are, in a source of records: then they are JSON text, and a row has no numbers but its uptime. Nil if
    /// all are numbers.
    var types: [FieldType]? { get }

    /// The unit of the values, as "g", "m/s2" or "rad/s"; nil if nobody said.
    var unit: String? { get }

    /// The nominal rate in Hz; nil if there is none.
    var rate: Double? { get }

    /// What the source is, for `stream.v1`: for a signal the specification from which any listener can compute it again.
    var description: String { get }

    /// The walk that is sampled, whose true steps are known; nil if it is something else.
    var walk: WalkSignal? { get }

    /// Appends the next sample's values to `row`, one for each field, and returns its time in nanoseconds since the
    /// stream's start; nil, with nothing appended, after the last one.
    ///
    /// - Throws: `PublisherError` naming the file and line, with nothing appended. The source is then at its end.
    mutating func next(into row: inout [Double]) throws(PublisherError) -> Int64?

    /// Replaces `rows` by the next `count`, or those that there are.
    mutating func read(_ count: Int, into rows: inout SourceRows)

    /// Goes back to the first sample.
    mutating func rewind() throws(PublisherError)
}

extension SampleSource {
    package var walk: WalkSignal? { nil }
    package var types: [FieldType]? { nil }

    // A requirement too, so that the loop over the samples is compiled for each kind of source.
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
