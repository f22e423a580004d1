package import Messages
package import Recording

/// A stream as an export describes it.
package struct ExportedStream: Hashable, Sendable {
    package struct Column: Hashable, Sendable {
        /// The type of a column's values, as far as export formats distinguish them.
        package enum Kind: String, Sendable {
            case number, text, boolean, json
        }

        package var name: String
        package var kind: Kind

        package init(_ name: String, _ kind: Kind = .number) {
            self.name = name
            self.kind = kind
        }
    }

    package var name: StreamName
    /// The name of the stream's files.
    package var log: LogName
    /// The fields of a sample without the uptime.
    package var columns: [Column]
    /// The unit of all samples; nil if it changes.
    package var unit: String?
    /// Samples per second, as reported by the publisher or after resampling; nil if it changes.
    package var rate: Double?
    /// Whether the data were measured, replayed or simulated; nil if unknown.
    package var origin: DataOrigin?
    /// The unit at the beginning and each change of it; nil if it does not change.
    package var units: [SessionRecord.Log.UnitChange]?
    /// The publisher's epochs, in order.
    package var epochs: [String]

    package init(_ log: SessionRecord.Log) {
        name = StreamName(device: log.device, stream: log.stream)
        self.log = log.name
        columns = log.fields.indices.dropFirst().map { Column(log.fields[$0], Column.Kind(of: $0, in: log.types)) }
        unit = log.onlyUnit
        units = log.unitChanges
        rate = log.onlyRate
        origin = log.origin
        epochs = log.epochs.map(\.epoch)
    }

    /// The indices of the columns with numbers.
    package var numbers: [Int] { columns.indices.filter { columns[$0].kind == .number } }

    /// The unit of each column; nil if it is unknown.
    package var columnUnits: [String?] { ColumnUnits.units(of: columns.map(\.name), in: unit) }

    /// Distinct names for the columns of a table that has one more column.
    func names(beside other: String) -> [String] {
        var taken: Set = [other]
        return columns.map { column in
            var name = column.name
            while !taken.insert(name).inserted { name += "_" }
            return name
        }
    }

    /// The indices of the columns x, y and z, if all three are numbers.
    package var axes: [Int]? {
        let places = ["x", "y", "z"].compactMap { name in
            columns.firstIndex { $0.name == name && $0.kind == .number }
        }
        return places.count == 3 ? places : nil
    }
}

extension ExportedStream.Column.Kind {
    /// - Parameter types: the columns' types; nil if all are numbers.
    fileprivate init(of column: Int, in types: [FieldType]?) {
        guard let types else {
            self = .number
            return
        }
        self =
            switch column < types.count ? types[column] : .json {
            case .number: .number
            case .text, .date: .text
            case .boolean: .boolean
            default: .json
            }
    }
}
