import Files
import Messages
import Recording

/// The samples of a session's streams in a phone's own recording.
struct FillExport {
    /// The location of a stream's samples.
    enum Place: Hashable {
        case table(TableSource.Table)
        /// The sum of samples with the same time in two tables: acceleration without gravity, and gravity.
        case sum(TableSource.Table, TableSource.Table)
    }

    /// A stream whose samples are requested.
    struct Wanted {
        let stream: FillStream
        let place: Place
        /// The requested times, in nanoseconds since 1970.
        var times: TimeRanges
    }

    /// The most samples of one table to hold for sums.
    private static let maximumHeld = 4_000_000
    private static let axes = ["x", "y", "z"]

    let metadata: [String: String]
    private let source: TableSource
    private var tables: [String: TableSource.Table] = [:]

    /// - Throws: `unreadable` if the file is not such a recording.
    init(_ source: SourceFile) throws(RecordingError) {
        switch source.kind {
        case .tables, .objects: break
        case .table, .axivity, .actiGraph:
            throw .notFilled(
                "it is not an export of Sensor Logger",
                "Export the recording from the app as CSV or JSON, and name the zip, the JSON file or the directory.")
        }
        let found = try TableSource(source, TableSurvey.Hints())
        self.source = found
        metadata = found.metadata
        let logger = SensorLogger(metadata)
        for table in found.tables {
            let name = logger.stream(table.title)
            if tables[name] == nil { tables[name] = table }
        }
    }

    /// The names of the streams in the export.
    var streams: [String] { tables.keys.sorted() }

    /// The device named in the export.
    var device: String? {
        metadata.first { $0.key.lowercased().filter(\.isLetter) == "deviceid" }?.value
    }

    /// The location of a stream's samples; nil if the export has none.
    func place(of stream: FillStream) -> Place? {
        if let table = tables[stream.log.stream] { return .table(table) }
        guard stream.log.stream == "accelerometer", stream.fields == Self.axes,
            let one = tables["userAcceleration"], let other = tables["gravity"]
        else { return nil }
        return .sum(one, other)
    }

    /// The fields of a stream that its table lacks.
    func missingFields(of stream: FillStream, in place: Place) -> [String] {
        guard case .table(let table) = place else { return [] }
        return stream.fields.filter { Self.index(of: $0, in: table.shape.fields) == nil }
    }

    /// A field `uptime` is called `uptime_` in streams.
    private static func index(of field: String, in names: [String]) -> Int? {
        names.firstIndex(of: field)
            ?? (field.hasSuffix("_") ? names.firstIndex(of: String(field.dropLast())) : nil)
    }

    // MARK: Reading

    /// The purpose of a table's rows.
    private struct Use {
        let index: Int
        let part: Part
        enum Part { case whole, first, second }
        let table: TableSource.Table
        /// The indexes of the time and the fields in a row with these names.
        var names: [String] = []
        var time: Int?
        var places: [Int?] = []

        init(_ index: Int, _ part: Part, _ table: TableSource.Table) {
            self.index = index
            self.part = part
            self.table = table
        }

        mutating func find(_ names: [String], _ fields: [String]) {
            self.names = names
            time = names.firstIndex(of: table.shape.timeColumn)
            places = fields.map { FillExport.index(of: $0, in: names) }
        }
    }

    /// Passes every requested sample, in the order of the files: the index of its stream in `wanted`, its time in nanoseconds
    /// since 1970, its values, and its key. Unreadable rows are skipped.
    func read(
        _ wanted: [Wanted],
        _ take: (_ stream: Int, _ time: Int64, _ values: SampleValues, _ key: SampleKey) throws(RecordingError) -> Void
    ) throws(RecordingError) {
        var held: [Int: [Int64: [Double]]] = [:]
        var count = 0
        var seconds: [Use] = []
        var others: [Use] = []
        for (index, one) in wanted.enumerated() {
            switch one.place {
            case .table(let table): others.append(Use(index, .whole, table))
            case .sum(let first, let second):
                others.append(Use(index, .first, first))
                seconds.append(Use(index, .second, second))
            }
        }
        try forEachRow(seconds, wanted) { use, time, values, _ throws(RecordingError) in
            guard case .numbers(let numbers) = values else { return }
            count += 1
            guard count <= Self.maximumHeld else {
                throw .notFilled(
                    "the gaps are longer than can be filled at once",
                    "Leave tables out of the export, and fill stream by stream.")
            }
            held[use.index, default: [:]][time] = numbers
        }
        try forEachRow(others, wanted) { use, time, values, key throws(RecordingError) in
            guard case .first = use.part else { return try take(use.index, time, values, key) }
            guard case .numbers(let numbers) = values, let other = held[use.index]?[time] else { return }
            let sum = zip(numbers, other).map(+)
            var key = SampleKey()
            for number in sum { key.add(number) }
            try take(use.index, time, .numbers(sum), key)
        }
    }

    private func forEachRow(
        _ uses: [Use], _ wanted: [Wanted],
        _ take: (Use, Int64, SampleValues, SampleKey) throws(RecordingError) -> Void
    ) throws(RecordingError) {
        for file in source.source.tables {
            // A table may be used twice: by itself, and for a sum.
            var own = Dictionary(grouping: uses.filter { $0.table.file == file }) { $0.table.name }
            if own.isEmpty { continue }
            try source.eachRow(of: file) { row throws(RecordingError) in
                guard row.problem == nil, let index = own.index(forKey: row.table) else { return }
                for use in own.values[index].indices {
                    let stream = wanted[own.values[index][use].index]
                    if own.values[index][use].names != row.names {
                        own.values[index][use].find(row.names, stream.stream.fields)
                    }
                    let now = own.values[index][use]
                    let time = row.withCell(now.time) { cell in
                        cell.trimmed.flatMap { now.table.shape.form.nanoseconds($0) }
                    }
                    guard let time, stream.times.contains(time) else { continue }
                    let (values, key) = Self.values(row, now.places, of: stream.stream)
                    try take(now, time, values, key)
                }
            }
        }
    }

    private static func values(
        _ row: TableRow, _ places: [Int?], of stream: FillStream
    ) -> (SampleValues, SampleKey) {
        var key = SampleKey()
        if stream.isNumeric {
            let numbers = places.map { place in
                row.withCell(place) { cell in cell.trimmed.flatMap { DecimalParser.parse($0) } ?? .nan }
            }
            for number in numbers { key.add(number) }
            return (.numbers(numbers), key)
        }
        var record: [UInt8] = []
        for (place, type) in zip(places, stream.types) {
            if !record.isEmpty { record.append(UInt8(ascii: ",")) }
            row.withCell(place) { cell in
                let start = record.count
                cell.append(to: &record, as: type)
                guard let bytes = type == .number || type == .boolean ? cell.trimmed : cell.bytes,
                    !record[start...].elementsEqual("null".utf8)
                else {
                    if type == .number { key.add(.nan) } else { key.add([UInt8]()) }
                    return
                }
                if type == .number { key.add(DecimalParser.parse(bytes) ?? .nan) } else { key.add(bytes) }
            }
        }
        return (.record(record), key)
    }
}

extension RecordingError {
    /// The error for a session that cannot be filled.
    static func notFilled(_ reason: String, _ advice: String) -> RecordingError {
        RecordingError(.invalidParameter, action: "fill from", reason: reason, advice: advice)
    }
}
