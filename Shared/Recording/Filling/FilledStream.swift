import Files
import Messages
import SystemPackage

/// The samples that fills added to a stream. A reader of the stream looks up each gap that it finds in the stream's files, and
/// reads here what the gap consists of now.
///
/// Gaps must be looked up in their order in the stream's files. Not Sendable.
final class FilledStream {
    enum Part {
        case gap(Gap)
        /// Samples in a fill's file: the number of the first, how many numbers they take, and how many samples there are.
        case samples(file: Int, from: Int, count: Int, samples: Int, of: Gap)
    }

    private let files: [SessionRecord.FilledFile]
    /// The fills whose samples are a publisher's, and so have its numbers.
    private let numberedFills: Set<Int>
    private let directory: Directory
    private let format: LogFormat
    private let root: JSONRoot
    /// Gaps that were not looked up yet, with the index of the fill's file.
    private let columns: [String]
    private var gaps: [(file: Int, gap: SessionRecord.FilledGap)]
    private var readers: [Int: FillReader] = [:]

    /// - Parameter columns: what the columns of the stream behind the uptime are called in files.
    /// - Returns: nil if nothing was filled into the stream.
    init?(_ log: SessionRecord.Log, of record: SessionRecord, in directory: Directory, columns: [String]) {
        guard let files = log.fills, !files.isEmpty else { return nil }
        self.files = files
        numberedFills = Set((record.fills ?? []).filter(\.offsets.isEmpty).map(\.number))
        self.directory = directory
        format = record.format(of: log)
        root = record.root
        self.columns = columns
        gaps = files.enumerated().flatMap { index, file in file.gaps.map { (index, $0) } }
    }

    func name(_ file: Int) -> String { files[file].name }

    /// What a gap in the stream's files consists of; nil if it was not filled.
    func parts(of gap: Gap) -> [Part]? {
        guard let index = gaps.firstIndex(where: { $0.gap.gap.isAlike(gap) }) else { return nil }
        let (file, filled) = gaps.remove(at: index)
        return filled.parts.flatMap { part -> [Part] in
            guard let samples = part.samples else {
                let rest = filled.rest(part)
                // A later fill may have filled more of it.
                return parts(of: rest) ?? [.gap(rest)]
            }
            // A part of a gap of unknown length has no numbers of its own.
            let isNumbered = part.count == 0 && numberedFills.contains(files[file].fill)
            let count = isNumbered ? samples : part.count
            return [.samples(file: file, from: part.from, count: count, samples: samples, of: gap)]
        }
    }

    /// A reader at the samples of a part. The parts of a file must be requested in order.
    /// - Parameter from: the number of the part's first sample.
    /// - Throws: `notFound`; `unreadable` if the file does not have that sample.
    func reader(_ file: Int, from: Int, of epoch: String) throws(RecordingError) -> FillReader {
        let reader: FillReader
        if let known = readers[file] {
            reader = known
        } else {
            reader = try FillReader(
                directory.path.appending(files[file].name), format: format, root: root, columns: columns)
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
    /// The epoch and number of the next samples, once their marker was read.
    private var place: (epoch: String, from: Int)?

    init(_ path: FilePath, format: LogFormat, root: JSONRoot, columns: [String]) throws(RecordingError) {
        let scanner = try LogScanner(path, format: format, root: root)
        self.scanner = scanner
        self.path = path
        cells = SampleCells(fields: columns)
    }

    /// The offset up to which the file was read.
    var end: Int { scanner.end }

    var uptime: Double { scanner.uptime }

    /// Skips everything before the samples from a number on.
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
    /// - Returns: whether there is a sample before the next marker, with the stream's fields.
    func next() throws(RecordingError) -> Bool {
        guard let record = try scanner.next() else { return false }
        guard record.isSample else {
            place = scanner.record.position
            return false
        }
        return scanner.find(&cells)
    }

    var name: String { path.lastComponent?.string ?? "" }

    /// Lends the last sample: the bytes of its record, and where its timestamp and its values are in them.
    func withCells(
        _ body: (UnsafeRawBufferPointer, _ timestamp: Range<Int>, _ values: UnsafeBufferPointer<Range<Int>>) -> Void
    ) {
        scanner.withRecordBytes { bytes in
            cells.values.withUnsafeBufferPointer { body(bytes, cells.timestamp, $0) }
        }
    }
}

extension LogRecord {
    /// The marker of a gap, changed to describe another gap.
    func replacing(_ gap: Gap) -> LogRecord {
        var record = self
        let texts = ["epoch": gap.epoch, "from": "\(gap.from)", "count": "\(gap.count)", "reason": gap.reason.rawValue]
        for index in record.columns.indices {
            if let text = texts[record.columns[index].name] { record.columns[index].text = text }
        }
        return record
    }
}
