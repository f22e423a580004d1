import Files
import Messages
import TextInput

/// Rows of CSV, of TSV, or separated by semicolons, below a header. Cells may be quoted as in RFC 4180, including line ends.
struct SeparatedRows: TableReader {
    private var lines = LineSplitter()
    private var row = TableRow()
    private var delimiter = UInt8(ascii: ",")
    /// The beginning of a row with an open quote.
    private var open: [UInt8] = []
    /// Lines to read again, each by itself, because a quote before them is not closed.
    private var again: ArraySlice<[UInt8]> = []
    /// The bytes of the longest row over several lines: after a forgotten closing quote, at most this much is read again.
    private static let maximumOpen = 1 << 16

    mutating func read(_ bytes: UnsafeRawBufferPointer, _ take: Take) throws(RecordingError) {
        // In pieces of the size that a line splitter expects.
        let size = 1 << 16
        for start in stride(from: 0, to: bytes.count, by: size) {
            let piece = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + size, bytes.count)])
            lines.append(piece.bindMemory(to: UInt8.self).span)
            try readLines(take)
        }
    }

    mutating func finish(_ take: Take) throws(RecordingError) {
        lines.finish()
        try readLines(take)
        while !open.isEmpty {
            let unended = open
            open = []
            unended.withUnsafeBytes { giveUp($0) }
            try take(row)
            try readLines(take)
        }
        if row.names.isEmpty { throw Self.noHeader }
    }

    private static let noHeader = RecordingError.notImported(
        "it has no header", "Write the names of its columns into the first line, as time,x,y,z.")

    private enum Line { case nothing, header, row }

    private mutating func readLines(_ take: Take) throws(RecordingError) {
        var lines = self.lines
        self.lines = LineSplitter()
        defer { self.lines = lines }
        while true {
            var line = Line.nothing
            do throws(TextInputError) {
                if let next = again.popFirst() {
                    line = next.withUnsafeBytes { readLine($0) }
                } else {
                    let isThere = try lines.next { (span) throws(TextInputError) in
                        span.withUnsafeBytes { line = readLine($0) }
                    }
                    if !isThere { return }
                }
            } catch {
                open = []
                try take(TableRow(names: row.names, problem: error.message))
                continue
            }
            switch line {
            case .nothing: break
            case .header: try readHeader()
            case .row: try take(row)
            }
        }
    }

    /// Finds the cells of a line; if a quote was open, it is the next line of the row.
    private mutating func readLine(_ line: UnsafeRawBufferPointer) -> Line {
        if open.isEmpty { return findRow(in: line) }
        let whole = open + [UInt8(ascii: "\n")] + line
        open = []
        return whole.withUnsafeBytes { findRow(in: $0) }
    }

    private mutating func findRow(in bytes: UnsafeRawBufferPointer) -> Line {
        var line = bytes
        if row.names.isEmpty, !line.isEmpty {
            if line.starts(with: [0xEF, 0xBB, 0xBF]) { line = UnsafeRawBufferPointer(rebasing: line.dropFirst(3)) }
            findDelimiter(line)
        }
        if !line.contains(where: { $0 > 0x20 }) { return .nothing }
        guard findCells(in: line) else {
            if line.count <= Self.maximumOpen {
                open = Array(line)
                return .nothing
            }
            giveUp(line)
            return .row
        }
        if row.names.isEmpty { return .header }
        let count = row.places.count
        row.problem =
            count == row.names.count ? nil : "it has \(count) cells, and the header has \(row.names.count)"
        return .row
    }

    /// Makes an unreadable row of the line whose quote is not closed, and schedules the lines after it to be read again.
    private mutating func giveUp(_ lines: UnsafeRawBufferPointer) {
        again = lines.split(separator: UInt8(ascii: "\n")).dropFirst().map { Array($0) } + again
        row.removeCells()
        row.problem = "its quotes do not end"
    }

    private mutating func findDelimiter(_ line: UnsafeRawBufferPointer) {
        let candidates = [UInt8(ascii: ","), UInt8(ascii: "\t"), UInt8(ascii: ";")]
        let counts = candidates.map { candidate in line.count { $0 == candidate } }
        delimiter = zip(candidates, counts).max { $0.1 < $1.1 }?.0 ?? delimiter
    }

    private mutating func readHeader() throws(RecordingError) {
        var names: [String] = []
        var hasWord = false
        for index in row.places.indices {
            var name = row.withCell(index) { cell in
                if let kind = cell.kind, kind != .number { hasWord = true }
                return String(decoding: cell.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0), as: UTF8.self)
            }
            name = name.filter { !$0.isNewline }
            while name.last == " " { name.removeLast() }
            while name.first == " " { name.removeFirst() }
            if name.isEmpty { name = "column\(names.count + 1)" }
            while names.contains(name) { name += "_" }
            names.append(name)
            guard names.count <= TableRow.maximumCells else { throw TableRow.tooManyColumns }
        }
        guard hasWord else { throw Self.noHeader }
        row.names = names
    }

    /// - Returns: false if the line ends in an open quote.
    private mutating func findCells(in line: UnsafeRawBufferPointer) -> Bool {
        row.removeCells()
        var index = 0
        while true {
            var isQuoted = false
            if index < line.count, line[index] == UInt8(ascii: "\"") {
                isQuoted = true
                index += 1
                while true {
                    guard index < line.count else { return false }
                    let byte = line[index]
                    index += 1
                    if byte == UInt8(ascii: "\"") {
                        guard index < line.count, line[index] == byte else { break }
                        index += 1
                    }
                    row.append(byte)
                }
            }
            let start = index
            while index < line.count, line[index] != delimiter { index += 1 }
            row.append(UnsafeRawBufferPointer(rebasing: line[start..<index]))
            row.endCell { $0 && !isQuoted ? .absent : .text }
            if index == line.count { return true }
            index += 1
        }
    }
}
