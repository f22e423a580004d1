package import Messages
import TextInput

/// Plays a recorded file: CSV or NDJSON, plain or compressed with gzip, of any length, a chunk at a time.
///
/// A file named *.ndjson or *.jsonl (also with .gz) has objects, any other is CSV; `LineParser` documents both. The published
/// values are the file's, to the last digit, unless a conversion is requested. Without a time column the rate gives the times.
/// Rows keep the file's order; one whose time is before its predecessor's is due at once.
///
/// An unreadable row ends the stream with an error that names its line: `validate()` finds it beforehand.
///
/// A class, because it has one position in one file.
package final class ReplaySource: SampleSource {
    package struct Options: Hashable, Sendable {
        /// The rate in Hz. It gives the times if the file has none; otherwise it is only the rate in the stream's description.
        package var rate: Double?
        /// Whether to begin again at the end; time continues, one interval after the latest row.
        package var isLooping = false
        /// Whether to take the first row's time as 0. Otherwise the times are used as they are.
        package var isRebased = false
        /// The unit of the file's values.
        package var unit: String?
        /// Converts the accelerations (`VectorFields.acceleration`) to this unit; `unit` must then be "g" or "m/s2".
        package var conversion: AccelerationUnit?
        package var choice = FieldChoice()

        package init(
            rate: Double? = nil, isLooping: Bool = false, isRebased: Bool = false, unit: String? = nil,
            conversion: AccelerationUnit? = nil, choice: FieldChoice = FieldChoice()
        ) {
            self.rate = rate
            self.isLooping = isLooping
            self.isRebased = isRebased
            self.unit = unit
            self.conversion = conversion
            self.choice = choice
        }
    }

    /// The result of reading a whole file.
    package struct Contents: Hashable, Sendable {
        /// The number of samples.
        package let count: Int64
        /// The first sample's time in seconds.
        package let first: Double
        /// The last sample's time in seconds.
        package let last: Double

        package init(count: Int64, first: Double, last: Double) {
            self.count = count
            self.first = first
            self.last = last
        }
    }

    /// A file whose first row's time is beyond this, one day, is assumed to count from another origin.
    private static let furthestStart = 86400 * Nanoseconds.perSecond
    /// The number of rows that determine the nominal rate.
    private static let rowsForRate: Int64 = 64

    package private(set) var fields: [String] = []
    package private(set) var types: [FieldType]?
    package private(set) var rate: Double?
    package private(set) var description = ""
    package let unit: String?

    private let path: String
    private let options: Options
    private let schedule: SampleSchedule?
    private let factor: Double
    private var convertedColumns: [Int] = []
    private let reader: LineReader<PublisherError>
    private var parser: LineParser

    private var index: Int64 = 0
    /// Nanoseconds added to the file's times in this round of the loop.
    private var offset: Int64 = 0
    private var firstTime: Int64 = 0
    private var latestTime: Int64 = 0
    private var previousTime: Int64 = 0
    private var interval: Int64 = 0

    /// Opens the file and reads its beginning.
    ///
    /// - Throws: `unreadable` for a file that cannot be read; `invalidInput`, naming the line, for one without rows, with a bad
    ///   beginning, without times and rate, or with times that begin more than a day after 0; `invalidParameter` for a conversion
    ///   from an unknown unit.
    package init(path: String, options: Options = Options()) throws(PublisherError) {
        self.path = path
        self.options = options
        schedule = try options.rate.map { (rate) throws(PublisherError) in try SampleSchedule(rate: rate) }
        unit = options.conversion?.rawValue ?? options.unit
        factor = try Self.factor(options)
        reader = try LineReader(path: path)
        parser = LineParser(format: Self.format(of: path), options.choice)
        try readBeginning()
    }

    package func next(into row: inout [Double]) throws(PublisherError) -> Int64? {
        let base = row.count
        var time = try nextInFile(into: &row)
        if time == nil, options.isLooping {
            try beginAgain()
            time = try nextInFile(into: &row)
        }
        if factor != 1, time != nil {
            for column in convertedColumns { row[base + column] *= factor }
        }
        return time
    }

    package func read(_ count: Int, into rows: inout SourceRows) {
        guard types != nil else {
            var source = self
            return source.readNumbers(count, into: &rows)
        }
        rows.reset(count)
        do throws(PublisherError) {
            var none: [Double] = []
            while rows.times.count < count, !rows.records.isFull {
                guard let time = try next(into: &none) else {
                    rows.end = .last
                    return
                }
                rows.values.append(0)
                rows.times.append(time)
                rows.records.append(parser.record)
            }
        } catch {
            rows.end = .failed(error)
        }
    }

    package func rewind() throws(PublisherError) {
        try reader.rewind()
        parser = LineParser(format: Self.format(of: path), options.choice)
        index = 0
        offset = 0
    }

    /// Reads the whole file once, with a reader of its own, as `--check` does.
    ///
    /// - Throws: `invalidInput`, naming the first unreadable line.
    package func validate() throws(PublisherError) -> Contents {
        var options = options
        options.isLooping = false
        let other = try ReplaySource(path: path, options: options)
        var row: [Double] = []
        var last: Int64 = 0
        while let time = try other.next(into: &row) {
            last = time
            row.removeAll(keepingCapacity: true)
        }
        if self.options.isLooping { try other.beginAgain() }
        return Contents(
            count: other.index, first: Nanoseconds.seconds(options.isRebased ? 0 : firstTime),
            last: Nanoseconds.seconds(last))
    }

    /// Reads the first rows for the fields, the nominal rate, and errors that show at once.
    private func readBeginning() throws(PublisherError) {
        var row: [Double] = []
        while index < Self.rowsForRate, try nextInFile(into: &row) != nil {}
        guard index > 0 else { throw PublisherError(.invalidInput, "\(path): no samples in this file") }
        if let schedule {
            rate = schedule.rate
        } else if index > 1, latestTime > firstTime {
            rate = Double(index - 1) * 1e9 / Double(latestTime - firstTime)
        }
        fields = parser.fields
        types = parser.types
        convertedColumns = fields.indices.filter { VectorFields.acceleration.contains(fields[$0]) }
        description = "replay:\(path.split(separator: "/").last ?? "")"
        if !parser.leftOut.isEmpty { description += ", without \(parser.leftOut.joined(separator: ", "))" }
        if !options.isRebased, abs(firstTime) > Self.furthestStart {
            throw PublisherError(
                .invalidInput,
                "\(path): the first time is \(Nanoseconds.seconds(firstTime)) s, so the replay would begin that much later; "
                    + "set rebase to make the first row's time 0")
        }
        try rewind()
    }

    private func nextInFile(into row: inout [Double]) throws(PublisherError) -> Int64? {
        while let line = try nextLine(into: &row) {
            guard case .sample(let ownTime) = line else { continue }
            let time = ownTime ?? schedule?.time(of: index) ?? Nanoseconds.limit
            if index == 0 {
                (firstTime, latestTime) = (time, time)
            } else {
                interval = time - previousTime
                latestTime = max(latestTime, time)
            }
            previousTime = time
            index += 1
            return time - (options.isRebased ? firstTime : 0) + offset
        }
        return nil
    }

    private func nextLine(into row: inout [Double]) throws(PublisherError) -> LineParser.Line? {
        var line: LineParser.Line?
        _ = try reader.next { (text) throws(PublisherError) in
            line = try parser.parse(text, into: &row)
            if line == .sample(time: nil), schedule == nil {
                if parser.types == nil { row.removeLast(parser.fields.count) }
                throw PublisherError(
                    .invalidInput, "there is no time (t or timestamp, in seconds); add it, or give a rate")
            }
        }
        return line
    }

    /// Begins the next round of the loop, one interval after the latest row of this one.
    private func beginAgain() throws(PublisherError) {
        guard interval > 0 else {
            throw PublisherError(
                .invalidInput, "\(path): cannot be looped: the last two rows do not say how long a row lasts")
        }
        let next = offset.addingClamped(latestTime - firstTime).addingClamped(interval)
        guard next < Nanoseconds.limit - latestTime else {
            throw PublisherError(.invalidInput, "\(path): looped beyond \(Nanoseconds.limit) ns")
        }
        try rewind()
        offset = next
    }

    private static func format(of path: String) -> LineParser.Format {
        let name = path.lowercased()
        let isObjects = [".ndjson", ".jsonl", ".ndjson.gz", ".jsonl.gz"].contains { name.hasSuffix($0) }
        return isObjects ? .ndjson : .csv
    }

    private static func factor(_ options: Options) throws(PublisherError) -> Double {
        guard let wanted = options.conversion else { return 1 }
        guard let declared = options.unit.flatMap(AccelerationUnit.init(rawValue:)) else {
            throw PublisherError(
                .invalidParameter,
                "to convert to \(wanted.rawValue), state the file's unit as \"g\" or \"m/s2\" (unit), "
                    + "not \(options.unit.map { "\"\($0)\"" } ?? "nothing")")
        }
        return wanted.perG / declared.perG
    }
}
