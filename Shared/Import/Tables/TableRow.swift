import Files

/// A row of a table, or a JSON object that names its table. Its memory is reused from row to row.
struct TableRow {
    /// The position of a cell in the row's text.
    struct Place {
        enum Kind { case absent, text, json }

        let kind: Kind
        let bytes: Range<Int>
    }

    /// The most cells of a row, and columns of a table.
    static let maximumCells = 1_000
    static let tooManyColumns = RecordingError.notImported(
        "it has more than \(maximumCells) columns", "Leave some out.")

    /// The table's name; empty if the file has only one.
    var table = ""
    /// The names of the cells: of each row in JSON, otherwise the header's.
    var names: [String]
    /// Why the row cannot be read, if so.
    var problem: String?
    private var text: [UInt8] = []
    private(set) var places: [Place] = []

    init(names: [String] = [], problem: String? = nil) {
        self.names = names
        self.problem = problem
    }

    var byteCount: Int { text.count }

    /// Passes a cell; one that the row lacks is absent.
    @inline(__always)
    func withCell<Result>(_ index: Int?, _ body: (TableCell) -> Result) -> Result {
        guard let index, index < places.count else { return body(.absent) }
        let place = places[index]
        return text.withUnsafeBytes { text in
            let bytes = UnsafeRawBufferPointer(rebasing: text[place.bytes])
            switch place.kind {
            case .absent: return body(.absent)
            case .text: return body(.text(bytes))
            case .json: return body(.json(bytes))
            }
        }
    }

    // MARK: Filling

    mutating func removeCells() {
        text.removeAll(keepingCapacity: true)
        places.removeAll(keepingCapacity: true)
    }

    /// Adds to the cell that the next `endCell` ends.
    mutating func append(_ byte: UInt8) { text.append(byte) }

    mutating func append(_ bytes: some Collection<UInt8>) { text.append(contentsOf: bytes) }

    mutating func endCell(_ kind: (_ isEmpty: Bool) -> Place.Kind) {
        let start = places.last?.bytes.upperBound ?? 0
        places.append(Place(kind: kind(text.count == start), bytes: start..<text.count))
    }
}

/// Reads rows from bytes in pieces.
protocol TableReader {
    typealias Take = (TableRow) throws(RecordingError) -> Void

    mutating func read(_ bytes: UnsafeRawBufferPointer, _ take: Take) throws(RecordingError)
    mutating func finish(_ take: Take) throws(RecordingError)
}
