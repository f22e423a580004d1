import Messages

/// The columns of a stream's samples that hold the acceleration: three axes, or one column with their magnitude.
struct AccelerationLayout: Hashable, Sendable {
    /// The values in a sample, including its uptime.
    let columns: Int
    /// The types of the values, in a stream of records; nil if all are numbers.
    private let types: [FieldType]?
    /// The columns of x, y and z; −1 for a missing axis.
    private let axes: SIMD3<Int>

    /// Finds the columns by their names: `x`, `y` and `z`, or `magnitude`, or the only one besides the uptime. In a stream of
    /// records they must be numbers; other columns may have any type.
    /// - Throws: `wrongColumns` if there are no such columns.
    init(_ fields: [String], _ types: [FieldType]? = nil) throws(MessageError) {
        columns = fields.count
        self.types = types
        let places = ["x", "y", "z"].map { fields.firstIndex(of: $0) ?? -1 }
        if fields.first == "uptime", !places.contains(-1) {
            axes = SIMD3(places[0], places[1], places[2])
        } else if fields.first == "uptime", let column = fields.firstIndex(of: "magnitude") {
            axes = SIMD3(column, -1, -1)
        } else if fields.first == "uptime", fields.count == 2 {
            axes = SIMD3(1, -1, -1)
        } else {
            throw MessageError(
                .wrongColumns,
                "its fields are \(fields.prefix(16).joined(separator: ", ")): an acceleration has uptime, x, y and z, or "
                    + "uptime and its magnitude")
        }
        guard let types else { return }
        guard types.count == columns else {
            throw MessageError(.wrongColumns, "it names \(types.count) types for \(columns) fields")
        }
        for column in [axes.x, axes.y, axes.z] where column >= 0 && types[column] != .number {
            throw MessageError(
                .wrongColumns,
                "its field \(fields[column]) is \(types[column].rawValue): an acceleration is a number"
            )
        }
    }

    /// Passes samples of a batch to a closure, in order: the row, and the uptime with three axes.
    ///
    /// The batch must have passed `check`.
    /// - Throws: the error of unreadable values in JSON; rows before it were passed.
    @inline(__always)
    func forEach(
        _ rows: Range<Int>, of batch: ReceivedBatch, _ body: (Int, SIMD4<Double>) -> Void
    ) throws(MessageError) {
        if let packed = batch.packed {
            for row in rows {
                let start = row * columns
                body(
                    row,
                    SIMD4(
                        packed.packedNumber(start), axis(axes.x) { packed.packedNumber(start + $0) },
                        axis(axes.y) { packed.packedNumber(start + $0) },
                        axis(axes.z) { packed.packedNumber(start + $0) }))
            }
        } else if let values = batch.body.values {
            var found = SampleRows(batch.frame, values: values, columns: columns, types: types)
            while try found.next() {
                let row = found.rowCount - 1
                guard rows.contains(row) else { continue }
                body(row, SIMD4(found.number(0), number(axes.x, found), number(axes.y, found), number(axes.z, found)))
            }
            guard found.rowCount == batch.body.count else {
                throw MessageError(
                    .malformed, "\"values\" has \(found.rowCount) rows, and \"count\" says \(batch.body.count)")
            }
        }
    }

    @inline(__always)
    private func axis(_ column: Int, _ number: (Int) -> Double) -> Double { column < 0 ? 0 : number(column) }

    @inline(__always)
    private func number(_ column: Int, _ row: borrowing SampleRows) -> Double { column < 0 ? 0 : row.number(column) }
}
