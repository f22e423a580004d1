import Files
import Messages
import SystemPackage

/// The samples that fills added to a stream, for who reads it: it finds a gap in the stream's files, and reads here what the gap
/// consists of now.
///
/// Gaps are asked for in the order in which they are in the stream's files. Not Sendable.
final class FilledStream {
    /// What a gap consists of.
    enum Part {
        case gap(Gap)
        /// Samples of a fill's file: the number of the first, how many numbers they take, and how many they are.
        case samples(file: Int, from: Int, count: Int, samples: Int, of: Gap)
    }

    private let files: [SessionRecord.FilledFile]
    private let directory: Directory
    private let format: LogFormat
    private let root: JSONRoot
    private let fields: Int
    /// Gaps that were not asked for yet, and whose fill's file has them.
    private var gaps: [(file: Int, gap: SessionRecord.FilledGap)]
    private var readers: [Int: FillReader] = [:]

    /// - Returns: nil if nothing was filled into the stream.
    init?(_ log: SessionRecord.Log, of record: SessionRecord, in directory: Directory) {
        guard let files = log.fills, !files.isEmpty else { return nil }
        self.files = files
        self.directory = directory
        format = record.format(of: log)
        root = record.root
        fields = max(0, log.fields.count - 1)
        gaps = files.enumerated().flatMap { index, file in file.gaps.map { (index, $0) } }
    }

    /// The name of a fill's file.
    func name(_ file: Int) -> String { files[file].name }

    /// What a gap of the stream's files consists of; nil if nothing was filled into it.
    func parts(of gap: Gap) -> [Part]? {
        guard let index = gaps.firstIndex(where: { $0.gap.gap.isAlike(gap) }) else { return nil }
        let (file, filled) = gaps.remove(at: index)
        return filled.parts.flatMap { part -> [Part] in
            guard let samples = part.samples else {
                let rest = filled.rest(part)
                // A later fill may have had more.
                return parts(of: rest) ?? [.gap(rest)]
            }
            return [.samples(file: file, from: part.from, count: part.count, samples: samples, of: gap)]
        }
    }

    /// What reads the samples of a part, the next one of its file that is asked for.
    /// - Parameter from: the number of its first sample.
    /// - Throws: `notFound`; `unreadable` if the file does not have it.
    func reader(_ file: Int, from: Int, of epoch: String) throws(RecordingError) -> FillReader {
        let reader: FillReader
        if let known = readers[file] {
            reader = known
        } else {
            reader = try FillReader(
                directory.path.appending(files[file].name), format: format, root: root, fields: fields)
            readers[file] = reader
        }
        try reader.find(from, of: epoch)
        return reader
    }
}

/// Reads a fill's file. Not Sendable.
final class FillReader {
    private var scanner: LogScanner
    private let path: FilePath
    private(set) var cells: SampleCells
    /// The place of the samples that are read next, once its marker was read.
    private var place: (epoch: String, from: Int)?

    init(_ path: FilePath, format: LogFormat, root: JSONRoot, fields: Int) throws(RecordingError) {
        let scanner = try LogScanner(path, format: format, root: root)
        self.scanner = scanner
        self.path = path
        cells = SampleCells(fields: fields)
    }

    /// Up to where the file was read.
    var end: Int { scanner.end }

    var uptime: Double { scanner.uptime }

    /// Passes over what stands before the samples of a number.
    func find(_ from: Int, of epoch: String) throws(RecordingError) {
        while place.map({ $0 != (epoch, from) }) ?? true {
            guard let record = try scanner.next() else {
                throw .changed(path, action: "read", "it does not have sample \(from) of epoch \(epoch)")
            }
            place = record.isSample ? nil : scanner.record.position ?? place
        }
        place = nil
    }

    /// Reads the next sample.
    /// - Returns: whether there is one before the next marker, and it has the stream's fields.
    func next() throws(RecordingError) -> Bool {
        guard let record = try scanner.next() else { return false }
        guard record.isSample else {
            place = scanner.record.position
            return false
        }
        return scanner.find(&cells)
    }

    /// The file's name.
    var name: String { path.lastComponent?.string ?? "" }

    /// Lends the sample that was read last: the bytes of its record, where its timestamp stands in them, and where its values do.
    func withCells(
        _ body: (UnsafeRawBufferPointer, _ timestamp: Range<Int>, _ values: UnsafeBufferPointer<Range<Int>>) -> Void
    ) {
        scanner.withRecordBytes { bytes in
            cells.values.withUnsafeBufferPointer { body(bytes, cells.timestamp, $0) }
        }
    }
}

extension LogRecord {
    /// The marker of a gap with another gap in its place.
    func replacing(_ gap: Gap) -> LogRecord {
        var record = self
        let texts = ["epoch": gap.epoch, "from": "\(gap.from)", "count": "\(gap.count)", "reason": gap.reason.rawValue]
        for index in record.columns.indices {
            if let text = texts[record.columns[index].name] { record.columns[index].text = text }
        }
        return record
    }
}
