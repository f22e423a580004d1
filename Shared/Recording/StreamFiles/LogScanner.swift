package import Files
package import Messages
package import SystemPackage

/// Reads the records of a stream file in pieces, never with the whole file in memory, and stops at the first byte that is not
/// part of a whole record.
///
/// A crash may leave anything at the end of a file: half a record, zeros, an earlier terminator, old pages. A record is whole if
/// it can be read and ends where the format requires; nothing after the first fault counts. Samples are only checked for their
/// structure and their numbers; `record` decodes the last record found.
///
/// Not Sendable.
package struct LogScanner: ~Copyable {
    package struct Record: Hashable, Sendable {
        /// False for a marker, which has no sensor type.
        package let isSample: Bool
        /// The range of the record in memory, without the separator before it.
        let bytes: Range<Int>
        /// The range of the uptime in memory; in an added format, in the record's object.
        let uptime: Range<Int>
        /// Whether the record itself shows that its end is complete.
        ///
        /// JSON closes its objects, and a table's samples end with empty columns. But the last column of a marker that describes
        /// the stream may have been longer, unless something follows it.
        package let isProven: Bool
        /// The range of the types that a marker states for the fields of the samples after it.
        var types: Range<Int>?
    }

    /// The end of the last record found, or of the opening before the first: the offset at which the next separator, or the
    /// terminator, is or must be put.
    package private(set) var end: Int

    /// Whether only the terminator follows the last record. Meaningless before `next` has returned `nil`.
    package private(set) var isClean = false

    /// The names of a table's columns; empty in JSON, where each record has its own.
    package let columns: [String]

    /// The types of a sample's own columns in a stream of records, from the last marker that states them.
    package private(set) var types: [FieldType]?

    /// Where the first record begins, its separator not counted; `nil` if the file's opening is incomplete, so that it has no
    /// records.
    package let openingEnd: Int?

    /// A row's text can't be longer than the frame in which it came, 32 MB, plus the names of its columns.
    private static let maximumRecordSize = 64 << 20

    private let source: OpenFile
    private let terminator: [UInt8]
    private let format: LogFormat
    private var piece: Piece
    private var table: TableColumns
    private var isDone: Bool
    private var found = Record(isSample: false, bytes: 0..<0, uptime: 0..<0, isProven: false)
    /// Reads records of an added format; `object` is that of the last record found.
    private let formatter: (any LogFormatter)?
    private let isAdded: Bool
    private var object: [UInt8] = []
    /// The form of samples, in JSON.
    private var shape = SampleShape()
    /// Whether the last record found has that form.
    private var hasShape = false

    /// - Parameters:
    ///   - offset: where to begin: the end of a record; `nil` for the first record.
    ///   - types: the types of the samples' values there, if known.
    package init(
        _ path: FilePath, format: LogFormat, root: JSONRoot, from offset: Int? = nil, types: [FieldType]? = nil
    ) throws(RecordingError) {
        try self.init(OpenFile(path, .readOnly, action: "read"), format: format, root: root, from: offset, types: types)
    }

    /// The same for an open file, which may be renamed meanwhile.
    /// - Parameter pieceSize: bytes to read at once, more for a longer record.
    package init(
        _ source: OpenFile, format: LogFormat, root: JSONRoot, from offset: Int? = nil, types: [FieldType]? = nil,
        pieceSize: Int = 256 << 10
    ) throws(RecordingError) {
        var piece = Piece(offset: 0, size: pieceSize)
        var finding = Finding<(end: Int, columns: [String])>.more
        while case .more = finding {
            let isMore = try piece.fill(from: source, limit: Self.maximumRecordSize)
            finding = piece.withBytes { Self.opening($0, format: format, root: root, isLast: piece.reachesEnd) }
            if !isMore, case .more = finding { finding = .none }
        }
        var opening: (end: Int, columns: [String])?
        if case .whole(let found) = finding { opening = found }
        if let opening, let offset, offset > opening.end {
            // With the byte before, which shows whether a record can end there.
            piece = Piece(offset: offset - 1, size: pieceSize)
            _ = try piece.fill(from: source, limit: Self.maximumRecordSize)
            piece.place = 1
        } else {
            piece.place = opening?.end ?? 0
        }
        self.source = source
        self.format = format
        formatter = format.formatter
        isAdded = formatter != nil
        terminator = Array(format == .json ? root.terminator.utf8 : "".utf8)
        openingEnd = opening?.end
        columns = opening?.columns ?? []
        self.types = types
        table = TableColumns(columns)
        end = piece.offset + piece.place
        isDone = opening == nil
        self.piece = piece
    }

    /// Whether a record may end where the scan begins, as far as the bytes around it show. Valid before the first `next`.
    package var isAtBoundary: Bool {
        if end == openingEnd { return true }
        return piece.withBytes { bytes in
            guard piece.place <= bytes.count, piece.place > 0 else { return false }
            if format == .json { return bytes[piece.place - 1] == UInt8(ascii: "}") }
            let last = bytes[piece.place - 1]
            guard last != 0, last != UInt8(ascii: "\n") else { return false }
            guard piece.place < bytes.count else { return true }
            let next = bytes[piece.place]
            return next == UInt8(ascii: "\n") || next == 0
        }
    }

    package mutating func next() throws(RecordingError) -> Record? {
        while !isDone {
            switch look() {
            case .whole(let found):
                self.found = found
                if let types = found.types {
                    self.types = withTexts { Self.types(UnsafeRawBufferPointer(rebasing: $0[types])) }
                }
                piece.place = found.bytes.upperBound
                end = piece.offset + piece.place
                return found
            case .none: isDone = true
            case .more:
                if try !piece.fill(from: source, limit: Self.maximumRecordSize) { isDone = true }
            }
        }
        return nil
    }

    /// The last record that `next` returned, decoded. Valid until the following `next`.
    package var record: LogRecord {
        withRecordBytes { part in
            format.isTable ? LogRecord(table: part, columns: columns, format: format) : LogRecord(json: part)
        }
    }

    /// Lends the bytes of the last record that `next` returned, an object or a row. Valid until the following `next`.
    @inline(__always)
    package func withRecordBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if isAdded { return object.withUnsafeBytes(body) }
        return piece.withBytes { bytes in body(UnsafeRawBufferPointer(rebasing: bytes[found.bytes])) }
    }

    /// Finds the values of the last sample that `next` returned.
    ///
    /// - Returns: whether its fields are the file's, and the stream has these.
    @inline(__always)
    package func find(_ cells: inout SampleCells) -> Bool {
        if !cells.arePlaced, !cells.place(ownColumns) { return false }
        if hasShape { return cells.take(shape.numbers) }
        return withRecordBytes { cells.find(in: $0, format) }
    }

    /// Lends the bytes to which the ranges of the last record's texts refer.
    @inline(__always)
    private func withTexts<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        isAdded ? object.withUnsafeBytes(body) : piece.withBytes(body)
    }

    /// The types in a marker's text.
    private static func types(_ text: UnsafeRawBufferPointer) -> [FieldType] {
        text.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\"") }.map {
            FieldType(rawValue: String(decoding: UnsafeRawBufferPointer(rebasing: $0), as: UTF8.self))
        }
    }

    /// The names of a sample's own columns in the last record that `next` returned, which must be a sample.
    package var ownColumns: [String] {
        if format.isTable {
            return Array(columns.drop { $0 != "sensorType" }.dropFirst().prefix { $0 != "timestampDate" })
        }
        return withRecordBytes { bytes in
            Array(LogRecord.keys(json: bytes).drop { $0 != "sensorType" }.dropFirst())
        }
    }

    /// The uptime of the last record that `next` returned, in seconds.
    package var uptime: Double { readUptime() }

    /// The same, for an optional scanner: Swift would consume that for a property.
    func readUptime() -> Double {
        withTexts { bytes in Self.number(UnsafeRawBufferPointer(rebasing: bytes[found.uptime])) ?? .nan }
    }

    // MARK: Looking

    /// The result of reading a place of the file.
    enum Finding<Value> {
        case whole(Value)
        /// The bytes do not fit the format.
        case none
        /// More bytes are needed to decide.
        case more
    }

    private mutating func look() -> Finding<Record> {
        hasShape = false
        guard format == .json, types == nil else { return lookForAny() }
        let place = piece.place
        let end = piece.withBytes { shape.match($0, at: place) }
        if let end {
            hasShape = true
            let start = place + SampleShape.separatorLength
            let uptime = shape.numbers[0]
            return .whole(
                Record(
                    isSample: true, bytes: start..<end,
                    uptime: (start + uptime.lowerBound)..<(start + uptime.upperBound), isProven: true))
        }
        let finding = lookForAny()
        if case .whole(let found) = finding, found.isSample {
            piece.withBytes { shape.learn(UnsafeRawBufferPointer(rebasing: $0[found.bytes])) }
        }
        return finding
    }

    private mutating func lookForAny() -> Finding<Record> {
        piece.withBytes { bytes in
            let rest = UnsafeRawBufferPointer(rebasing: bytes[min(piece.place, bytes.count)...])
            // The piece reaches the file's end, so no more bytes will come.
            let isLast = piece.reachesEnd
            isClean = isLast && rest.elementsEqual(terminator)
            if isClean { return .none }
            if !isLast, rest.count <= terminator.count { return .more }
            if let formatter {
                return Self.look(for: formatter, bytes, at: piece.place, isLast: isLast, types: types, &object)
            }
            return format == .json
                ? Self.lookForJSON(bytes, at: piece.place, isFirst: end == openingEnd, isLast: isLast, types: types)
                : table.look(bytes, at: piece.place, format: format, isLast: isLast, types: types)
        }
    }

    // MARK: Reading

    private struct Piece {
        var offset: Int
        let size: Int
        var place = 0
        var reachesEnd = false
        var bytes: [UInt8] = []
        var count = 0

        func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
            bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }

        /// Drops the bytes before `place` and reads on.
        ///
        /// - Returns: `false` if nothing more can be read: the file ends, or the unfinished record is too long.
        mutating func fill(from source: OpenFile, limit: Int) throws(RecordingError) -> Bool {
            if reachesEnd { return false }
            // Keep the byte before the place: it shows whether a record can end there.
            let dropped = max(0, place - 1)
            if dropped > 0 {
                bytes.withUnsafeMutableBytes { bytes in
                    bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[dropped..<count]))
                }
                offset += dropped
                place -= dropped
                count -= dropped
            }
            if count == bytes.count {
                guard count < limit else { return false }
                bytes += [UInt8](repeating: 0, count: max(count, size))
            }
            while count < bytes.count {
                let (start, place) = (count, offset + count)
                let length = try bytes.withUnsafeMutableBufferPointer { bytes throws(RecordingError) in
                    let room = UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: bytes[start...]))
                    return try source.read(into: room, at: place)
                }
                if length == 0 {
                    reachesEnd = true
                    return true
                }
                count += length
            }
            return true
        }
    }

    /// The opening before the first record, and a table's columns.
    private static func opening(
        _ bytes: UnsafeRawBufferPointer, format: LogFormat, root: JSONRoot, isLast: Bool
    ) -> Finding<(end: Int, columns: [String])> {
        if format.isTable { return TableColumns.texts(bytes, format: format, isLast: isLast) }
        if format != .json {
            guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) ?? (isLast ? bytes.count : nil) else {
                return .more
            }
            return end > 0 ? .whole((end, [])) : .none
        }
        // The content of a string lies between the parts.
        let mark = "\u{0}"
        let parts = root.opening(startDate: mark).split(separator: mark).map { Array($0.utf8) }
        var place = 0
        for (index, part) in parts.enumerated() {
            if index > 0 {
                guard let quote = bytes[place...].firstIndex(of: UInt8(ascii: "\"")) else {
                    return isLast ? .none : .more
                }
                place = quote
            }
            guard bytes.count - place >= part.count else { return isLast ? .none : .more }
            guard bytes[place..<(place + part.count)].elementsEqual(part) else { return .none }
            place += part.count
        }
        return .whole((place, []))
    }
}
