import Archives
import Encryption
import Files
import Recording
import SystemPackage
import TextInput

/// A file to import, and the files in it if it is a zip: it can be read from the beginning any number of times.
struct SourceFile {
    /// The kind of a file.
    enum Kind: Equatable {
        case axivity
        case actiGraph
        /// Tables in a zip, with their names.
        case tables([String])
        /// One JSON array.
        case objects
        /// One table.
        case table
    }

    let path: FilePath
    let kind: Kind
    /// Files of a zip that are not read.
    let others: [String]

    /// Whether the source is a directory that contains the files.
    private let isDirectory: Bool

    /// The longest text about a recording, in bytes.
    private static let maximumText = 1 << 20

    /// - Throws: `unreadable` if the file cannot be imported.
    init(_ path: FilePath) throws(RecordingError) {
        guard (try? path.stat().type) == .regular else {
            throw RecordingError(
                .notFound, action: "import", path: path, reason: "it is not a file",
                advice: "Check the path; directories and pipes can't be imported.")
        }
        self.path = path
        isDirectory = false
        let file = try OpenFile(path, .readOnly, action: "read")
        let magic = try file.bytes(in: 0..<4)
        if magic.isEmpty {
            throw RecordingError.notImported("it is empty", "Download or export it again.").of(path)
        }
        if magic.starts(with: "PK\u{3}\u{4}".utf8) {
            let names = try Self.names(path)
            if names.contains("log.bin") {
                (kind, others) = (.actiGraph, [])
                return
            }
            if names.contains("activity.bin") {
                throw RecordingError.notImported(
                    "it has the old format of ActiGraph's devices, without checksums",
                    "Export it to CSV with ActiGraph's software, and import that."
                ).of(path)
            }
            let isTable = { (name: String) in
                (name.hasSuffix(".csv") || name.hasSuffix(".json")) && !name.hasPrefix("__MACOSX/")
            }
            let tables = names.filter(isTable)
            guard !tables.isEmpty else {
                throw RecordingError.notImported(
                    "its zip has neither log.bin nor tables",
                    "Import a .gt3x file, or an export of Sensor Logger as CSV or JSON."
                ).of(path)
            }
            (kind, others) = (.tables(tables), names.filter { !isTable($0) })
            return
        }
        others = []
        // Decompressed, if it is a gzip file.
        var first: [UInt8] = []
        try Self.pieces(of: path, upTo: 1) { piece throws(RecordingError) in first += piece.prefix(1024) }
        let text = first.starts(with: [0xEF, 0xBB, 0xBF]) ? first.dropFirst(3) : first[...]
        if first.starts(with: "MD".utf8), first.count > 3, first[2] == 0xFC, first[3] == 0x03 {
            kind = .axivity
        } else if first.contains(0) {
            throw RecordingError.notImported(
                "its format is not a known one",
                "Import a .cwa or .gt3x file, an export of Sensor Logger, or a table with a header."
            ).of(path)
        } else {
            kind = text.first { $0 > 0x20 } == UInt8(ascii: "[") ? .objects : .table
        }
    }

    /// The tables in a directory, as in an unpacked zip.
    /// - Throws: `unreadable` if there are none.
    init(unpacked path: FilePath) throws(RecordingError) {
        let names = try Directory(path).names().filter { !$0.hasPrefix(".") }.sorted()
        let tables = names.filter { $0.hasSuffix(".csv") || $0.hasSuffix(".json") }
        guard !tables.isEmpty else {
            throw RecordingError.notImported(
                "the directory has no tables", "Name the directory, or the zip, that the app's export is."
            ).of(path)
        }
        self.path = path
        isDirectory = true
        (kind, others) = (.tables(tables), names.filter { !tables.contains($0) })
    }

    /// The bytes of the source, or of a file in it.
    struct Pieces {
        fileprivate let path: FilePath
        fileprivate let isDirectory: Bool
        /// nil for the source itself.
        fileprivate let file: String?

        /// Passes the decompressed bytes, from the beginning.
        func read(_ body: (UnsafeRawBufferPointer) throws(RecordingError) -> Void) throws(RecordingError) {
            guard let file else { return try SourceFile.pieces(of: path, upTo: .max, body) }
            if isDirectory { return try SourceFile.pieces(of: path.appending(file), upTo: .max, body) }
            let reader = try SourceFile.reader(path)
            while let name = try SourceFile.attempt(path, { () throws(ArchiveError) in try reader.next() }) {
                guard name == file else { continue }
                while true {
                    let piece = try SourceFile.attempt(path) { () throws(ArchiveError) in try reader.read() }
                    if piece.isEmpty { return }
                    try body(piece)
                }
            }
        }
    }

    /// The tables: files of the zip, or a single one with an empty name.
    var tables: [String] {
        if case .tables(let names) = kind { names } else { [""] }
    }

    /// - Parameter file: the name of a file in the zip; empty for the source itself.
    func pieces(of file: String = "") -> Pieces {
        Pieces(path: path, isDirectory: isDirectory, file: file.isEmpty ? nil : file)
    }

    /// A short text file in the zip; nil if it does not exist.
    func text(_ name: String) throws(RecordingError) -> String? {
        guard try Self.names(path).contains(name) else { return nil }
        var bytes: [UInt8] = []
        try pieces(of: name).read { piece throws(RecordingError) in
            guard bytes.count + piece.count <= Self.maximumText else {
                throw RecordingError.notImported(
                    "its \(name) is longer than any", "Download or export the file again."
                ).of(path)
            }
            bytes += piece
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func names(_ path: FilePath) throws(RecordingError) -> [String] {
        let reader = try reader(path)
        var names: [String] = []
        while let name = try attempt(path, { () throws(ArchiveError) in try reader.next() }) { names.append(name) }
        return names
    }

    fileprivate static func reader(_ path: FilePath) throws(RecordingError) -> ArchiveReader {
        try attempt(path) { () throws(ArchiveError) in try ArchiveReader(zip: path) }
    }

    fileprivate static func attempt<Value>(
        _ path: FilePath, _ body: () throws(ArchiveError) -> Value
    ) throws(RecordingError) -> Value {
        do throws(ArchiveError) {
            return try body()
        } catch {
            throw RecordingError.notImported(error.message, "Download or export the file again.").of(path)
        }
    }

    fileprivate static func pieces(
        of path: FilePath, upTo limit: Int, _ body: (UnsafeRawBufferPointer) throws(RecordingError) -> Void
    ) throws(RecordingError) {
        var failure: RecordingError?
        do throws(TextInputError) {
            let file = try GzipFile<TextInputError>(path: path.string)
            var count = 0
            while count < limit, failure == nil {
                count += 1
                let isMore = try file.read { span in
                    failure = span.withUnsafeBytes { bytes in
                        RecordingError.thrown { () throws(RecordingError) in try body(bytes) }
                    }
                }
                if !isMore { break }
            }
        } catch {
            throw RecordingError.notImported(error.message, "Download or export the file again.").of(path)
        }
        if let failure { throw failure }
    }
}
