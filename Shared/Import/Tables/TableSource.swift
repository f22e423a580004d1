import Files

/// The tables of a source, found by reading all of them once.
struct TableSource {
    /// A table of a file, and its shape.
    struct Table: Hashable {
        /// The name of the file in a zip; empty if the source is not a zip.
        let file: String
        /// The table's name in the file; empty if the whole file is the table.
        let name: String
        let title: String
        let shape: TableShape
    }

    let source: SourceFile
    private(set) var tables: [Table] = []
    /// Sensor Logger's metadata of the recording.
    private(set) var metadata: [String: String] = [:]
    /// Files of a zip that cannot be read.
    private(set) var leftOut: [String] = []

    /// - Throws: `unreadable` if the source is a single table that cannot be read; `invalidParameter` if a hint is wrong.
    init(_ source: SourceFile, _ hints: TableSurvey.Hints) throws(RecordingError) {
        self.source = source
        for file in source.tables {
            let title = Self.title(file)
            if title == SensorLogger.metadata {
                metadata = try firstRow(of: file).map(Self.texts) ?? [:]
                continue
            }
            var surveys: [String: TableSurvey] = [:]
            var order: [String] = []
            var found: [String: String]?
            do throws(RecordingError) {
                try eachRow(of: file) { row throws(RecordingError) in
                    if row.problem != nil { return }
                    if row.table == SensorLogger.metadata {
                        found = Self.texts(row)
                        return
                    }
                    if surveys[row.table] == nil { order.append(row.table) }
                    try surveys[row.table, default: TableSurvey(hints)].take(row)
                }
            } catch {
                // An unreadable file among others of a zip is only listed.
                if file.isEmpty || error.path != nil { throw error }
                order = []
            }
            metadata = found ?? metadata
            let shapes = order.compactMap { name in surveys[name]?.shape.map { (name, $0) } }
            if shapes.isEmpty, !file.isEmpty { leftOut.append(file) }
            tables += shapes.map { name, shape in
                Table(file: file, name: name, title: name.isEmpty ? title : name, shape: shape)
            }
        }
        guard hints.start != nil, !tables.isEmpty, !tables.contains(where: \.shape.form.isSeconds) else { return }
        throw RecordingError(
            .invalidParameter, action: "import",
            reason: "its times are dates already, and --start is for seconds",
            advice: "Leave --start out, and look at the date in the output. If it is wrong, the times are a counter: "
                + "convert them to seconds since the start.")
    }

    func reader(of file: String) -> any TableReader {
        source.kind == .objects || file.hasSuffix(".json") ? ObjectRows() : SeparatedRows()
    }

    /// Passes each row of a file.
    func eachRow(of file: String, _ take: TableReader.Take) throws(RecordingError) {
        var reader = reader(of: file)
        try source.pieces(of: file).read { piece throws(RecordingError) in try reader.read(piece, take) }
        try reader.finish(take)
    }

    private func firstRow(of file: String) throws(RecordingError) -> TableRow? {
        var first: TableRow?
        try eachRow(of: file) { row throws(RecordingError) in if first == nil { first = row } }
        return first
    }

    private static func texts(_ row: TableRow) -> [String: String] {
        var texts: [String: String] = [:]
        for (index, name) in row.names.enumerated() {
            let text = row.withCell(index) { cell in cell.bytes.map { String(decoding: $0, as: UTF8.self) } }
            if let text { texts[name] = text }
        }
        return texts
    }

    /// `recording/Heart Rate.csv` becomes `Heart Rate`.
    static func title(_ file: String) -> String {
        var title = file.split(separator: "/").last.map(String.init) ?? ""
        for ending in [".gz", ".csv", ".tsv", ".txt", ".json"] where title.hasSuffix(ending) {
            title.removeLast(ending.count)
        }
        return title
    }
}
