import Files
import Messages
import SystemPackage

/// Reads a file into a session, and collects the file's own metadata.
struct SourceReading {
    private let source: SourceFile
    private let options: SessionImport.Options
    private let writer: SessionWriter
    /// The kind of the file, in a word.
    private(set) var kind = ""
    /// The zone of times without one, and its origin.
    private(set) var zone: String?
    private(set) var about: [String: JSONValue] = [:]
    private(set) var leftOut: [String]

    init(_ source: SourceFile, _ options: SessionImport.Options, _ writer: SessionWriter) {
        self.source = source
        self.options = options
        self.writer = writer
        leftOut = source.others
    }

    mutating func run(_ progress: (Int) -> Void) throws(RecordingError) {
        switch source.kind {
        case .axivity: try readAxivity(progress)
        case .actiGraph: try readActiGraph(progress)
        case .tables, .objects, .table: try readTables(progress)
        }
    }

    // MARK: Devices

    private mutating func readAxivity(_ progress: (Int) -> Void) throws(RecordingError) {
        kind = "axivity"
        var decoder = AxivityDecoder(device: options.device, zone: zone(ofFile: nil))
        try decode(&decoder, progress, source.pieces())
        about = decoder.header?.keys ?? [:]
    }

    private mutating func readActiGraph(_ progress: (Int) -> Void) throws(RecordingError) {
        kind = "actigraph"
        guard let text = try source.text("info.txt") else {
            throw .notImported("it has no info.txt", "Download the recording from the device again.")
        }
        if let calibration = try source.text("calibration.json"),
            case .object(let keys)? = try? WireCoding.decode(JSONValue.self, from: Array(calibration.utf8)),
            keys["isCalibrated"] == .boolean(false)
        {
            throw .notImported(
                "its samples are not calibrated", "Export it to CSV with ActiGraph's software, and import that.")
        }
        let info = ActiGraphInfo(text)
        about = info.keys
        var decoder = try ActiGraphDecoder(info, device: options.device, zone: zone(ofFile: info.zone))
        try decode(&decoder, progress, source.pieces(of: "log.bin"))
    }

    /// Seconds by which the device's clock is ahead of UTC.
    private mutating func zone(ofFile zone: Int?) -> Int {
        let seconds = options.zone ?? zone ?? 0
        let (minutes, sign) = (abs(seconds) / 60, seconds < 0 ? "-" : "+")
        let digits = [minutes / 60, minutes % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
        let origin = options.zone != nil ? "asked for" : zone != nil ? "from the file" : "assumed"
        self.zone = "\(sign)\(digits[0]):\(digits[1]), \(origin)"
        return seconds
    }

    /// - Returns: the number of bytes read, plus `start`.
    @discardableResult
    private func decode(
        _ decoder: inout some ImportDecoder, _ progress: (Int) -> Void, after start: Int = 0,
        _ pieces: SourceFile.Pieces
    ) throws(RecordingError) -> Int {
        var count = start
        try pieces.read { piece throws(RecordingError) in
            try decoder.decode(piece) { found throws(RecordingError) in try writer.take(found) }
            count += piece.count
            progress(count)
        }
        try decoder.finish { found throws(RecordingError) in try writer.take(found) }
        return count
    }

    // MARK: Tables

    private mutating func readTables(_ progress: (Int) -> Void) throws(RecordingError) {
        let hints = TableSurvey.Hints(time: options.time, zone: options.zone ?? 0, start: options.start)
        let tables = try TableSource(source, hints)
        let (found, metadata) = (tables.tables, tables.metadata)
        leftOut += tables.leftOut
        guard let start = found.map(\.shape.earliest).min() else {
            throw .notImported("it has no rows with a time", "Check that it has a header and rows.")
        }
        about = metadata.mapValues { .string($0) }
        let isOneTable = source.kind == .table
        kind = isOneTable ? "table" : "sensor-logger"
        let usesZone = found.contains { if case .date = $0.shape.form { true } else { false } }
        if options.zone != nil || usesZone { _ = zone(ofFile: nil) }

        let device =
            options.device ?? (isOneTable ? TableSource.title(source.path.lastComponent?.string ?? "") : "phone")
        let logger = SensorLogger(metadata)
        var names: Set<String> = []
        let streams = found.map { table in
            let usual = table.shape.hasAxes ? "accelerometer" : "samples"
            var name = isOneTable ? options.stream ?? usual : logger.stream(table.title)
            while !names.insert(name).inserted { name += "-2" }
            return ImportedStream(
                StreamName(device: device, stream: name), fields: table.shape.fields, types: table.shape.types,
                unit: isOneTable ? options.unit : logger.unit(table.title), rate: nil, run: "import",
                origin: isOneTable ? nil : .measured)
        }
        try writer.take(.streams(streams, start: start))
        var count = 0
        for file in source.tables {
            let own = found.enumerated().filter { $0.element.file == file }
                .map { ($0.element.name, (stream: $0.offset, shape: $0.element.shape)) }
            if own.isEmpty { continue }
            var decoder = TableDecoder(tables.reader(of: file), Dictionary(own) { first, _ in first })
            count = try decode(&decoder, progress, after: count, source.pieces(of: file))
        }
    }
}
