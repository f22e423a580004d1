import Files

/// A row of a table, or an object of JSON that says which table it is of. Keeps its memory from row to row.
struct TableRow {
    /// Where a cell stands in the row's text.
    struct Place {
        enum Kind { case absent, text, json }

        let kind: Kind
        let bytes: Range<Int>
    }

    /// The table's name; empty if the file has one only.
    var table = ""
    /// The names of the cells: of each row in JSON, else the header's.
    var names: [String]
    /// Why it can't be read, if it can't.
    var problem: String?
    private var text: [UInt8] = []
    private(set) var places: [Place] = []

    init(names: [String] = [], problem: String? = nil) {
        self.names = names
        self.problem = problem
    }

    /// Bytes of all cells.
    var byteCount: Int { text.count }

    /// Lends a cell; one that the row does not have is absent.
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

    /// Adds to the cell that `endCell` ends.
    mutating func append(_ byte: UInt8) { text.append(byte) }

    mutating func append(_ bytes: some Collection<UInt8>) { text.append(contentsOf: bytes) }

    mutating func endCell(_ kind: (_ isEmpty: Bool) -> Place.Kind) {
        let start = places.last?.bytes.upperBound ?? 0
        places.append(Place(kind: kind(text.count == start), bytes: start..<text.count))
    }
}

/// Reads rows from bytes that come in pieces.
protocol TableReader {
    typealias Take = (TableRow) throws(RecordingError) -> Void

    mutating func read(_ bytes: UnsafeRawBufferPointer, _ take: Take) throws(RecordingError)
    mutating func finish(_ take: Take) throws(RecordingError)
}
