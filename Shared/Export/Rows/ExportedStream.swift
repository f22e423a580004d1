package import Messages
package import Recording

/// A stream as an export describes it.
package struct ExportedStream: Hashable, Sendable {
    package struct Column: Hashable, Sendable {
        /// What the values of a column are, as far as formats distinguish them.
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
    /// What its files are called.
    package var log: LogName
    /// The fields of a sample after its uptime.
    package var columns: [Column]
    /// The unit of the columns, if the stream has one.
    package var unit: String?
    /// Samples per second as the publisher names it, or as they were resampled.
    package var rate: Double?
    /// Whether its data were measured, replayed or simulated, if that is known.
    package var origin: DataOrigin?
    /// The publisher's epochs, in order.
    package var epochs: [String]

    package init(_ log: SessionRecord.Log) {
        name = StreamName(device: log.device, stream: log.stream)
        self.log = log.name
        columns = log.fields.indices.dropFirst().map { Column(log.fields[$0], Column.Kind(of: $0, in: log.types)) }
        unit = log.unit
        rate = log.rate
        origin = log.origin
        epochs = log.epochs.map(\.epoch)
    }

    /// The columns, by their index, whose values are numbers.
    package var numbers: [Int] { columns.indices.filter { columns[$0].kind == .number } }

    /// The columns of x, y and z, if these are numbers.
    package var axes: [Int]? {
        let places = ["x", "y", "z"].compactMap { name in
            columns.firstIndex { $0.name == name && $0.kind == .number }
        }
        return places.count == 3 ? places : nil
    }
}

extension ExportedStream.Column.Kind {
    /// - Parameter types: of the columns; nil if all are numbers.
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
