import Files
import Messages

/// The shape of a table: found by reading all of it once, because the last row may decide the type of a column.
struct TableShape: Hashable, Sendable {
    let form: TimeForm
    let timeColumn: String
    let fields: [String]
    /// The types of the fields.
    let kinds: [FieldType]
    /// The date of the earliest row, in nanoseconds since 1970.
    let earliest: Int64

    /// The fields' types for a stream: nil if all are numbers.
    var types: [FieldType]? { kinds.allSatisfy { $0 == .number } ? nil : kinds }
    var hasAxes: Bool { ["x", "y", "z"].allSatisfy(fields.contains) }
}

/// Determines the shape of a table from its rows.
struct TableSurvey {
    /// Information that a file does not have.
    struct Hints: Hashable, Sendable {
        /// The column with the times.
        var time: String?
        /// Seconds ahead of UTC, for dates without a zone.
        var zone = 0
        var start: WallTime?
    }

    private struct Column {
        let name: String
        var kinds: Set<FieldType> = []
        /// The type added last, which is nearly always that of the next cell.
        var last: FieldType?

        mutating func add(_ kind: FieldType) {
            if kind == last { return }
            last = kind
            kinds.insert(kind)
        }
    }

    /// The names of time columns, in order of preference.
    private static let timeNames = ["time", "timestamp", "datetime", "date", "t", "unix", "seconds_elapsed"]

    private let hints: Hints
    private var columns: [Column] = []
    private var places: [String: Int] = [:]
    private var timeColumn: String?
    /// The names of the last row, and the columns of its cells; nil for the time.
    private var names: [String] = []
    private var order: [Int?] = []
    private var form: TimeForm?
    private var earliest = Int64.max

    init(_ hints: Hints) {
        self.hints = hints
    }

    /// - Throws: `unreadable` if the rows have no times.
    mutating func take(_ row: TableRow) throws(RecordingError) {
        guard row.problem == nil else { return }
        if row.names != names { try take(names: row.names) }
        var time: Int64?
        for index in row.places.indices.prefix(order.count) {
            if let place = order[index] {
                if let kind = row.withCell(index, \.kind) { columns[place].add(kind) }
                continue
            }
            var failure: RecordingError?
            row.withCell(index) { cell in
                guard let bytes = cell.trimmed, !bytes.isEmpty else { return }
                if form == nil {
                    failure = RecordingError.thrown { () throws(RecordingError) in
                        form = try TimeForm(bytes, zone: hints.zone, start: hints.start)
                    }
                }
                time = form?.nanoseconds(bytes)
            }
            if let failure { throw failure }
        }
        if let time { earliest = min(earliest, time) }
    }

    /// Takes the names of a row, if they differ from those of the row before.
    /// - Throws: `unreadable` for names that would make each record of a stream file long.
    private mutating func take(names: [String]) throws(RecordingError) {
        let timeColumn: String
        if let known = self.timeColumn { timeColumn = known } else { timeColumn = try findTime(names) }
        self.timeColumn = timeColumn
        guard !names.contains(where: { $0 != timeColumn && FieldName.isTooLong($0) }) else {
            throw .notImported(
                "the name of one of its columns has more than \(FieldName.maximumBytes) bytes", "Shorten it.")
        }
        order = names.map { name in
            if name == timeColumn { return nil }
            if let known = places[name] { return known }
            places[name] = columns.count
            columns.append(Column(name: name))
            return columns.count - 1
        }
        guard columns.count <= TableRow.maximumCells else { throw TableRow.tooManyColumns }
        self.names = names
    }

    /// The table's shape; nil without rows.
    var shape: TableShape? {
        guard let form, let timeColumn, earliest < .max else { return nil }
        // Sensor Logger repeats the time, in seconds since the start.
        let fields = columns.filter { $0.name != "seconds_elapsed" || timeColumn != "time" }
        return TableShape(
            form: form, timeColumn: timeColumn, fields: fields.map(\.name),
            kinds: fields.map { column in
                if column.kinds.contains(.json) { return .json }
                return column.kinds.count > 1 ? .text : column.kinds.first ?? .number
            }, earliest: earliest)
    }

    private func findTime(_ names: [String]) throws(RecordingError) -> String {
        let wanted = hints.time.map { [$0] } ?? Self.timeNames
        for name in wanted {
            if let found = names.first(where: { $0 == name }) ?? names.first(where: { $0.lowercased() == name }) {
                return found
            }
        }
        throw .notImported(
            "none of its columns \(names.prefix(16).joined(separator: ", ")) is \(hints.time ?? "a time")",
            "Name the column with the times with --time.")
    }
}
