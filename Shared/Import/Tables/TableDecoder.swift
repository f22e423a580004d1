import Files
import Messages

/// Reads the rows of one or several tables of known shapes.
///
/// Tables have no sample numbers and no checksums: missing rows cannot be detected, and no gap is guessed. An unreadable row is a
/// gap of one sample.
struct TableDecoder: ImportDecoder {
    /// A table's stream, and the progress of reading it.
    private struct Progress {
        let stream: Int
        let shape: TableShape
        /// Unreadable rows since the last readable one.
        var unreadable = 0
        var allUnreadable = 0
        var problem = ""
        var last = Int64.min
        var backward = 0
        /// The names of the last row, and the indexes of the time and the fields in it.
        var names: [String] = []
        var time: Int?
        var places: [Int?] = []

        init(stream: Int, shape: TableShape) {
            self.stream = stream
            self.shape = shape
        }

        /// Rows of one table nearly always have the same names in the same order.
        mutating func find(_ names: [String]) {
            self.names = names
            time = names.firstIndex(of: shape.timeColumn)
            places = shape.fields.map { names.firstIndex(of: $0) }
        }
    }

    private var reader: any TableReader
    private var tables: [String: Progress]
    private var strays = 0
    private var rows = 0

    /// - Parameter tables: by name, the index of each table's stream and the table's shape.
    init(_ reader: any TableReader, _ tables: [String: (stream: Int, shape: TableShape)]) {
        self.reader = reader
        self.tables = tables.mapValues { Progress(stream: $0.stream, shape: $0.shape) }
    }

    mutating func decode(_ bytes: UnsafeRawBufferPointer, _ emit: Emit) throws(RecordingError) {
        var reader = self.reader
        try reader.read(bytes) { row throws(RecordingError) in try take(row, emit) }
        self.reader = reader
    }

    mutating func finish(_ emit: Emit) throws(RecordingError) {
        var reader = self.reader
        try reader.finish { row throws(RecordingError) in try take(row, emit) }
        for (name, table) in tables.sorted(by: { $0.value.stream < $1.value.stream }) {
            let place = name.isEmpty ? "" : "\(name): "
            if table.unreadable > 0 {
                try emit(.gap(stream: table.stream, count: table.unreadable, .malformed))
            }
            if table.allUnreadable > 0 {
                try emit(.failure("\(place)\(table.allUnreadable) rows can't be read; the first: \(table.problem)"))
            }
            if table.backward > 0 { try emit(.failure("\(place)\(table.backward) rows go back in time")) }
        }
        if strays > 0 { try emit(.failure("\(strays) objects can't be read")) }
    }

    private mutating func take(_ row: TableRow, _ emit: Emit) throws(RecordingError) {
        rows += 1
        guard let index = tables.index(forKey: row.table) else {
            if row.problem != nil { strays += 1 }
            return
        }
        // Modified in place, so that no row needs a copy.
        try Self.take(row, number: rows, &tables.values[index], emit)
    }

    private static func take(
        _ row: TableRow, number: Int, _ table: inout Progress, _ emit: Emit
    ) throws(RecordingError) {
        if row.names != table.names { table.find(row.names) }
        var problem = row.problem
        var time: Int64?
        if problem == nil {
            time = row.withCell(table.time) { cell in cell.trimmed.flatMap { table.shape.form.nanoseconds($0) } }
            if time == nil { problem = "its time is not valid" }
        }
        guard let time else {
            table.unreadable += 1
            if table.allUnreadable == 0 { table.problem = "row \(number), \(problem ?? "")" }
            table.allUnreadable += 1
            return
        }
        if table.unreadable > 0 {
            try emit(.gap(stream: table.stream, count: table.unreadable, .malformed))
            table.unreadable = 0
        }
        if time < table.last { table.backward += 1 }
        table.last = time
        var values: [UInt8] = []
        values.reserveCapacity(row.byteCount + 8 * table.places.count)
        for (place, kind) in zip(table.places, table.shape.kinds) {
            if !values.isEmpty { values.append(UInt8(ascii: ",")) }
            row.withCell(place) { $0.append(to: &values, as: kind) }
        }
        try emit(.record(stream: table.stream, time: time, values: values))
    }
}
