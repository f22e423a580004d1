import FoundationEssentials
package import Messages

/// Turns lines of CSV or NDJSON into rows of samples: the same for a replayed file and for a program on standard input.
///
/// CSV begins with a header that names the columns, in any order; cells may be quoted. The time is the column t, seconds_elapsed,
/// timestamp or time (seconds, or nanoseconds since 1970), if there is one. x, y and z and every other column with a number in
/// the first row are fields; other columns (labels) are left out and named in `leftOut`. NDJSON has one object a line, with the
/// names as keys; the first object's numbers are the fields, and each later one must have them.
///
/// If the first object of NDJSON has values other than numbers, or such fields were requested, the lines are records: their
/// values are JSON text in `record`, see `RecordParser`.
///
/// An unreadable line is an error and changes nothing: the caller adds its place, and may continue.
package struct LineParser {
    package enum Format: String, CaseIterable, Hashable, Sendable {
        case csv, ndjson
    }

    /// The kind of a line.
    package enum Line: Hashable, Sendable {
        /// Nothing to publish: an empty line, or the header.
        case nothing
        /// The header again, as from a device that restarts.
        case header
        /// A sample, appended to the row, or a record in `record`; its time in nanoseconds if the input has times.
        case sample(time: Int64?)
    }

    private enum Column {
        case time
        case field(Int)
        case undecided(String)
        case leftOut
    }

    /// The names of the values, in the order in which they are published; empty before the first sample.
    package private(set) var fields: [String] = []
    /// The columns that are not published.
    package private(set) var leftOut: [String] = []

    private let format: Format
    private let choice: FieldChoice
    private var records: RecordParser?
    /// The column of each field, in a table of records.
    private var places: [Int?] = []
    private var columns: [Column] = []
    /// The line that named the columns.
    private var header: [UInt8] = []
    /// The name of the time column.
    private var timeName: String?
    private var isFirstLine = true

    package init(format: Format, _ choice: FieldChoice = FieldChoice()) {
        self.format = format
        self.choice = choice
    }

    /// The types of the values, in records; nil if all are numbers.
    package var types: [FieldType]? { records?.types }

    /// The values of the last record, as JSON text separated by commas.
    package var record: [UInt8] { records?.record ?? [] }

    /// Reads one line, without its end.
    ///
    /// - Throws: `invalidInput` for an unreadable line.
    package mutating func parse(_ line: Span<UInt8>, into row: inout [Double]) throws(PublisherError) -> Line {
        var text = line
        if isFirstLine {
            isFirstLine = false
            if text.count >= 3, text[0] == 0xEF, text[1] == 0xBB, text[2] == 0xBF { text = text.extracting(3...) }
        }
        if Self.trimmed(0..<text.count, of: text).isEmpty { return .nothing }
        switch format {
        case .ndjson: return try parseObject(text, into: &row)
        case .csv where columns.isEmpty:
            try readHeader(text)
            return .nothing
        case .csv:
            if fields.isEmpty { try decideColumns(by: text) }
            do throws(PublisherError) {
                return try records == nil ? parseCells(text, into: &row) : parseRecordCells(text)
            } catch {
                // A restarted device repeats its header.
                guard text.withUnsafeBufferPointer({ $0.elementsEqual(header) }) else { throw error }
                return .header
            }
        }
    }

    // MARK: - NDJSON

    private mutating func parseObject(_ text: Span<UInt8>, into row: inout [Double]) throws(PublisherError) -> Line {
        if fields.isEmpty, !choice.isNumeric, let first = try firstRecord(text) { return first }
        if records != nil { return try parseRecord(text) }
        let item: NumericItem
        do {
            item = try JSONDecoder().decode(
                NumericItem.self, from: text.withUnsafeBufferPointer { Data(buffer: $0) })
        } catch {
            throw PublisherError(.invalidInput, "this is not JSON: \(Self.string(text).prefix(80))")
        }
        var fields = self.fields.isEmpty ? choice.fields?.map(\.name) ?? [] : self.fields
        if fields.isEmpty { fields = try item.fields() }
        let (written, values) = try item.values(of: fields)
        let time = try written.map { (written) throws(PublisherError) in try written.nanoseconds() }
        self.fields = fields
        row += values
        return .sample(time: time)
    }

    /// Reads the first object, if the lines are records.
    private mutating func firstRecord(_ text: Span<UInt8>) throws(PublisherError) -> Line? {
        let found = try text.withUnsafeBytes { (bytes) throws(PublisherError) -> RecordParser? in
            if choice.asksForRecords { return try RecordParser(choice.fields ?? [], first: bytes) }
            var scanner = JSONScanner(bytes)
            guard choice.fields == nil, scanner.peek() == UInt8(ascii: "{"), JSONScanner.isValid(bytes) else {
                return nil
            }
            return try RecordParser(first: bytes, choice)
        }
        guard let found else { return nil }
        records = found
        do throws(PublisherError) {
            let line = try parseRecord(text)
            fields = found.fields
            return line
        } catch {
            // A bad first line of a live input is only skipped.
            records = nil
            throw error
        }
    }

    private mutating func parseRecord(_ text: Span<UInt8>) throws(PublisherError) -> Line {
        let time = try text.withUnsafeBytes { (bytes) throws(PublisherError) -> Int64? in
            let time = try records?.parse(bytes)
            return time ?? nil
        }
        leftOut = records?.leftOut ?? []
        return .sample(time: time)
    }

    // MARK: - CSV

    private mutating func readHeader(_ text: Span<UInt8>) throws(PublisherError) {
        let names = try Self.cells(of: text).map { Self.string(text.extracting($0)) }
        guard names.contains(where: { !$0.isEmpty && Double($0) == nil }) else {
            throw PublisherError(
                .invalidInput, "the header is missing: the first line should name the columns, as t,x,y,z")
        }
        for (index, name) in names.enumerated() where !name.isEmpty && names[..<index].contains(name) {
            throw PublisherError(.invalidInput, "two columns are named \"\(name)\"")
        }
        header = text.withUnsafeBufferPointer { Array($0) }
        // A field that was asked for is not the time.
        let fields = Set(choice.fields?.map(\.name) ?? [])
        let time = FieldOrder.timeIndex(in: names.map { fields.contains($0) ? "" : $0 })
        timeName = time.map { names[$0] }
        columns = names.enumerated().map { index, name in index == time ? .time : .undecided(name) }
    }

    /// Determines by the first row which columns are numbers.
    private mutating func decideColumns(by text: Span<UInt8>) throws(PublisherError) {
        let cells = try cellsOfRow(text)
        if try decideRecords(by: text) { return }
        var names: [String] = []
        var leftOut: [String] = []
        for (column, cell) in zip(columns, cells) {
            guard case .undecided(let name) = column else { continue }
            let wanted = choice.fields.map { $0.contains { $0.name == name } }
            let isNeeded = wanted ?? ["x", "y", "z"].contains(name)
            let isPossible = wanted ?? (!name.isEmpty && !FieldOrder.isReserved(name, besideTime: timeName))
            if isNeeded || isPossible && Self.number(text.extracting(cell)) != nil {
                names.append(name)
            } else {
                leftOut.append(name)
            }
        }
        guard !names.isEmpty else {
            throw PublisherError(.invalidInput, "no column with numbers besides the time")
        }
        if let missing = choice.fields?.first(where: { !names.contains($0.name) }) {
            throw PublisherError(.invalidInput, "no column is named \"\(missing.name)\"")
        }
        let fields = choice.fields?.map(\.name) ?? FieldOrder.sorted(names)
        try FieldChoice.check(fields)
        // The whole row must be readable before its columns are accepted: a bad first line of a live input is only skipped.
        for (column, cell) in zip(columns, cells) {
            if case .undecided(let name) = column, fields.contains(name) {
                _ = try Self.number(in: cell, of: text, name: name)
            }
        }
        self.leftOut = leftOut
        self.fields = fields
        columns = columns.map { column in
            guard case .undecided(let name) = column else { return column }
            return fields.firstIndex(of: name).map { .field($0) } ?? .leftOut
        }
    }

    /// Determines the columns of a record, if the table has records.
    private mutating func decideRecords(by text: Span<UInt8>) throws(PublisherError) -> Bool {
        let names = columns.map { if case .undecided(let name) = $0 { name } else { "" } }
        let found: RecordParser
        if choice.asksForRecords {
            found = RecordParser(choice.fields ?? [], names: [])
        } else if choice.isMotion, !choice.isNumeric, let motion = RecordParser(motion: names) {
            found = motion
        } else {
            return false
        }
        places = found.columns.map(names.firstIndex)
        if !choice.isMotion, let missing = zip(found.columns, places).first(where: { $1 == nil })?.0 {
            throw PublisherError(.invalidInput, "no column is named \"\(missing)\"")
        }
        records = found
        do throws(PublisherError) {
            _ = try parseRecordCells(text)
        } catch {
            records = nil
            throw error
        }
        leftOut = names.indices.filter { !names[$0].isEmpty && !places.contains($0) }.map { names[$0] }
        fields = found.fields
        return true
    }

    private mutating func parseRecordCells(_ text: Span<UInt8>) throws(PublisherError) -> Line {
        let cells = try cellsOfRow(text)
        var time: Int64?
        for (column, cell) in zip(columns, cells) {
            if case .time = column { time = try Self.time(in: cell, of: text) }
        }
        records?.begin()
        for (index, place) in places.enumerated() {
            let cell = place.map { Self.string(text.extracting(cells[$0])).replacing("\"\"", with: "\"") }
            try records?.append(cell: cell, at: index)
        }
        return .sample(time: time)
    }

    private func parseCells(_ text: Span<UInt8>, into row: inout [Double]) throws(PublisherError) -> Line {
        let base = row.count
        var time: Int64?
        var column = 0
        var position = 0
        for _ in fields { row.append(0) }
        do throws(PublisherError) {
            while let cell = try Self.nextCell(of: text, from: &position) {
                guard column < columns.count else { throw try wrongCount(text) }
                switch columns[column] {
                case .time: time = try Self.time(in: cell, of: text)
                case .field(let index):
                    row[base + index] = try Self.number(in: cell, of: text, name: fields[index])
                case .undecided, .leftOut: break
                }
                column += 1
            }
            guard column == columns.count else { throw try wrongCount(text) }
        } catch {
            row.removeSubrange(base...)
            throw error
        }
        return .sample(time: time)
    }

    private func cellsOfRow(_ text: Span<UInt8>) throws(PublisherError) -> [Range<Int>] {
        let cells = try Self.cells(of: text)
        guard cells.count == columns.count else { throw try wrongCount(text) }
        return cells
    }

    private func wrongCount(_ text: Span<UInt8>) throws(PublisherError) -> PublisherError {
        let count = try Self.cells(of: text).count
        let hint =
            columns.count == 1 && header.contains(UInt8(ascii: ";"))
            ? ": separate columns by commas, and write numbers with a decimal point" : ""
        return PublisherError(.invalidInput, "\(count) cells, but the header names \(columns.count) columns\(hint)")
    }

    private static func time(in cell: Range<Int>, of text: Span<UInt8>) throws(PublisherError) -> Int64 {
        let exact = text.extracting(cell).withUnsafeBufferPointer { Nanoseconds.from(text: UnsafeRawBufferPointer($0)) }
        if let exact { return exact }
        return try time(try number(in: cell, of: text, name: "time"))
    }

    private static func time(_ number: Double) throws(PublisherError) -> Int64 {
        guard let time = Nanoseconds.from(time: number) else {
            throw PublisherError(.invalidInput, "\(number) is not a time in seconds")
        }
        return time
    }

    private static func number(in cell: Range<Int>, of text: Span<UInt8>, name: String) throws(PublisherError)
        -> Double
    {
        guard let number = number(text.extracting(cell)) else {
            throw PublisherError(
                .invalidInput, "\(name): \"\(string(text.extracting(cell)))\" is not a number")
        }
        return number
    }

    /// Also accepts "nan" and "inf", as some programs write them.
    private static func number(_ text: Span<UInt8>) -> Double? {
        text.withUnsafeBufferPointer { DecimalParser.parse(UnsafeRawBufferPointer($0)) } ?? Double(string(text))
    }

    private static func string(_ text: Span<UInt8>) -> String {
        text.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    private static func cells(of text: Span<UInt8>) throws(PublisherError) -> [Range<Int>] {
        var cells: [Range<Int>] = []
        var position = 0
        while let cell = try nextCell(of: text, from: &position) { cells.append(cell) }
        return cells
    }

    /// The next cell, without quotes and surrounding blanks; `position` moves past its comma, or beyond the end.
    private static func nextCell(of text: Span<UInt8>, from position: inout Int) throws(PublisherError) -> Range<Int>? {
        guard position <= text.count else { return nil }
        var index = position
        while index < text.count, isBlank(text[index]) { index += 1 }
        if index < text.count, text[index] == quote {
            let start = index + 1
            index = start
            while index < text.count, text[index] != quote || index + 1 < text.count && text[index + 1] == quote {
                index += text[index] == quote ? 2 : 1
            }
            guard index < text.count else { throw PublisherError(.invalidInput, "a quote is not closed") }
            let cell = trimmed(start..<index, of: text)
            index += 1
            while index < text.count, isBlank(text[index]) { index += 1 }
            guard index == text.count || text[index] == comma else {
                throw PublisherError(.invalidInput, "text after a closing quote")
            }
            position = index + 1
            return cell
        }
        let start = index
        while index < text.count, text[index] != comma { index += 1 }
        position = index + 1
        return trimmed(start..<index, of: text)
    }

    private static func trimmed(_ range: Range<Int>, of text: Span<UInt8>) -> Range<Int> {
        var range = range
        while let first = range.first, isBlank(text[first]) { range.removeFirst() }
        while let last = range.last, isBlank(text[last]) { range.removeLast() }
        return range
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }

    private static let quote = UInt8(ascii: "\"")
    private static let comma = UInt8(ascii: ",")
}
