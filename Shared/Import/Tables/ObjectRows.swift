import Files
import Messages

/// The objects of one JSON array, as exported by Sensor Logger: `sensor` in each object is the name of its table.
struct ObjectRows: TableReader {
    private var bytes: [UInt8] = []
    /// The index of the next byte to scan.
    private var index = 0
    /// The index at which the present object begins; nil between objects.
    private var start: Int?
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    private var hasBegun = false
    private var hasEnded = false

    private static let maximumBytes = 1 << 20
    private static let notAnArray = RecordingError.notImported(
        "it is not a JSON array of objects", "Import an export of Sensor Logger, or a table with a header.")

    mutating func read(_ piece: UnsafeRawBufferPointer, _ take: Take) throws(RecordingError) {
        if let start {
            bytes.removeFirst(start)
            index -= start
            self.start = 0
        } else {
            bytes.removeAll(keepingCapacity: true)
            index = 0
        }
        bytes += piece
        while index < bytes.count {
            try look(at: bytes[index], take)
            index += 1
        }
        if let start, bytes.count - start > Self.maximumBytes { throw Self.notAnArray }
    }

    mutating func finish(_ take: Take) throws(RecordingError) {
        guard hasBegun else { throw Self.notAnArray }
        if !hasEnded { try take(TableRow(problem: "the file ends before its array does")) }
    }

    private mutating func look(at byte: UInt8, _ take: Take) throws(RecordingError) {
        if let start {
            if isInString {
                if !isEscaped, byte == UInt8(ascii: "\"") { isInString = false }
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                return
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "}"):
                depth -= 1
                if depth == 0 {
                    self.start = nil
                    try take(row(bytes[start...index]))
                }
            default: break
            }
            return
        }
        switch byte {
        case UInt8(ascii: "["):
            if hasBegun { throw Self.notAnArray }
            hasBegun = true
        case UInt8(ascii: "{"):
            guard hasBegun, !hasEnded else { throw Self.notAnArray }
            start = index
            depth = 1
        case UInt8(ascii: "]"): hasEnded = true
        case UInt8(ascii: ","), 0x20, 0x0A, 0x0D, 0x09: break
        case 0xEF, 0xBB, 0xBF: if hasBegun { throw Self.notAnArray }
        default: throw Self.notAnArray
        }
    }

    private func row(_ object: ArraySlice<UInt8>) -> TableRow {
        object.withUnsafeBytes { bytes in
            var row = TableRow()
            do throws(MessageError) {
                var scanner = JSONScanner(bytes)
                try scanner.expect(UInt8(ascii: "{"))
                guard !scanner.skip(UInt8(ascii: "}")) else { return row }
                repeat {
                    let name = JSONScanner.string(at: try scanner.skipString(), in: bytes)
                    try scanner.expect(UInt8(ascii: ":"))
                    let isString = scanner.peek() == UInt8(ascii: "\"")
                    let token = try scanner.skipValue(ofDepth: FieldType.maximumDepth)
                    let value = UnsafeRawBufferPointer(rebasing: bytes[token])
                    if name == "sensor", isString {
                        row.table = JSONScanner.string(at: token, in: bytes)
                        continue
                    }
                    row.names.append(name)
                    if isString {
                        row.append(JSONScanner.string(at: token, in: bytes).utf8)
                    } else {
                        row.append(JSONScanner.withoutBlanks(value))
                    }
                    row.endCell { _ in isString ? .text : .json }
                } while scanner.skip(UInt8(ascii: ","))
                try scanner.expect(UInt8(ascii: "}"))
            } catch {
                row.problem = error.message
            }
            return row
        }
    }
}
