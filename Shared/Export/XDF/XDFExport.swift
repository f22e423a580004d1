package import Files
import Messages

/// Writes one XDF file for a session: for each stream one of numbers and one of strings for its other columns, and markers.
///
/// With the publishers' own clocks, the file contains the measured offsets for readers to apply; otherwise times are already on
/// the recorder's clock.
package struct XDFExport: ExportWriter {
    private let directory: ExportDirectory
    private let session: ExportedSession
    private let alignments: [String: ClockAlignment]
    private let file: OutputFile
    private var writer: XDFWriter
    private var numbers: XDFWriter.Stream?
    private var texts: XDFWriter.Stream?
    private var numberColumns: [Int] = []
    private var textColumns: [Int] = []
    private var textKinds: [ExportedStream.Column.Kind] = []
    private var markers: XDFWriter.Stream
    private var stream: ExportedStream?

    /// - Parameter alignments: the alignments of the publishers' clocks, by epoch.
    package init(
        _ session: ExportedSession, alignments: [String: ClockAlignment], in directory: ExportDirectory
    ) throws(RecordingError) {
        self.directory = directory
        self.session = session
        self.alignments = alignments
        file = try directory.create("\(session.name).xdf")
        writer = XDFWriter(
            datetime: WallTime(nanosecondsSince1970: session.startDate).utcText, to: &file.buffer)
        markers = writer.begin(
            name: "markers", type: "Markers", channels: 1, isText: true, source: "\(session.name)/markers",
            description: "", to: &file.buffer)
    }

    package var provenanceName: String { "\(session.name).xdf.provenance.json" }

    package func files(of stream: ExportedStream) -> [String] { ["\(session.name).xdf"] }

    package mutating func begin(_ stream: ExportedStream) throws(RecordingError) {
        self.stream = stream
        numberColumns = stream.numbers
        textColumns = stream.columns.indices.filter { stream.columns[$0].kind != .number }
        textKinds = textColumns.map { stream.columns[$0].kind }
        numbers = numberColumns.isEmpty ? nil : begin(stream, numberColumns, suffix: "", isText: false)
        texts =
            textColumns.isEmpty ? nil : begin(stream, textColumns, suffix: numbers == nil ? "" : " text", isText: true)
    }

    private mutating func begin(
        _ stream: ExportedStream, _ columns: [Int], suffix: String, isText: Bool
    ) -> XDFWriter.Stream {
        let units = stream.columnUnits
        let channels = columns.map { index in
            let unit = isText ? nil : units[index]
            return "<channel><label>\(XDFWriter.escaped(stream.columns[index].name))</label>"
                + (unit.map { "<unit>\(XDFWriter.escaped($0))</unit>" } ?? "") + "</channel>"
        }
        let rate = stream.rate.map { "<nominal_rate>\($0)</nominal_rate>" } ?? ""
        return writer.begin(
            name: stream.name.description + suffix, type: "MoCap", channels: columns.count, isText: isText,
            source: "\(session.name)/\(stream.name)\(suffix)",
            description: "<channels>\(channels.joined())</channels>"
                + "<device>\(XDFWriter.escaped(stream.name.device))</device>\(rate)",
            to: &file.buffer)
    }

    @inline(__always)
    package mutating func append(_ row: SampleRow) {
        let time = row.time.map(seconds) ?? .nan
        if var stream = numbers {
            writer.append(time: time, to: &stream, output: &file.buffer) { sample in
                for index in numberColumns { sample.append(littleEndian: row.number(index)) }
            }
            numbers = stream
        }
        if var stream = texts {
            writer.append(time: time, to: &stream, output: &file.buffer) { sample in
                for (index, kind) in zip(textColumns, textKinds) {
                    XDFWriter.append(row.isNull(index) ? "" : row.text(index, kind), to: &sample)
                }
            }
            texts = stream
        }
    }

    package mutating func append(_ absence: StreamBreak) {
        guard let stream, var time = absence.after ?? absence.before else { return }
        // The stream of markers has no clock offsets: all its times are the recorder's.
        if session.clock == .own, let epoch = absence.neighbour, var alignment = alignments[epoch] {
            time = alignment.recorderTime(of: time)
        }
        let count = absence.count > 0 ? " (\(absence.count))" : ""
        mark("gap \(stream.name): \(absence.reason)\(count)", at: time)
    }

    package mutating func writeIfFull() throws(RecordingError) { try file.writeIfFull() }

    package mutating func end(_ stream: ExportedStream, _ walk: StreamWalk) throws(RecordingError) {
        for kind in [\XDFExport.numbers, \XDFExport.texts] {
            guard var own = self[keyPath: kind] else { continue }
            writer.end(&own, to: &file.buffer)
            if session.clock == .own { appendOffsets(of: stream, own) }
            self[keyPath: kind] = nil
        }
        self.stream = nil
    }

    /// Readers fit one line through all offsets of a stream, so the offsets of all its epochs are written.
    private mutating func appendOffsets(of stream: ExportedStream, _ own: XDFWriter.Stream) {
        var known: Set<ClockAlignment.Point> = []
        for point in stream.epochs.flatMap({ alignments[$0]?.points ?? [] }) where known.insert(point).inserted {
            writer.appendOffset(
                -Double(point.offset) / 1e9, at: Double(point.time) / 1e9, of: own, to: &file.buffer)
        }
    }

    package mutating func finish() throws(RecordingError) {
        for event in session.events {
            mark(
                [event.name, event.value, event.annotation == nil ? event.stream?.description : nil].compactMap { $0 }
                    .joined(separator: " "),
                at: event.time)
        }
        writer.end(&markers, to: &file.buffer)
        try directory.finish(file)
    }

    private mutating func mark(_ text: String, at time: Int64) {
        writer.append(time: seconds(time), to: &markers, output: &file.buffer) { XDFWriter.append(text, to: &$0) }
    }

    /// A time as written to the file: seconds since the session's start, or since 1970.
    private func seconds(_ time: Int64) -> Double {
        Double(session.clock == .utc ? session.startDate &+ time : time) / 1e9
    }
}
