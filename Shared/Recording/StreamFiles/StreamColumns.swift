import Messages

/// The columns of a stream in all of its files together.
///
/// If a stream gets other columns during a session, it continues in a new file, and `session.json` names the latest columns only.
/// These come first, and behind them those that only other files have.
struct StreamColumns {
    /// The stream, with all of its columns.
    private(set) var log: SessionRecord.Log
    /// What the columns behind the uptime are called in files.
    private(set) var names: [String]
    /// What the values of all columns are.
    private var types: [FieldType]

    init(_ log: SessionRecord.Log, _ format: LogFormat) {
        var log = log
        // A document that somebody has changed may name none.
        if log.fields.isEmpty { log.fields = ["uptime"] }
        types = log.fields.indices.map { FieldType.type(of: $0, in: log.types) }
        let formatter = RecordFormatter(format: format, sensorType: log.stream, fields: log.fields, types: log.types)
        names = formatter.fields
        self.log = log
    }

    /// Adds the columns of a file.
    /// - Parameter types: what they are; nil if all are numbers.
    mutating func add(_ columns: [String], _ types: [FieldType]?) {
        for (index, name) in columns.enumerated() {
            let type = FieldType.type(of: index, in: types)
            guard let known = names.firstIndex(of: name) else {
                names.append(name)
                log.fields.append(name)
                self.types.append(type)
                continue
            }
            // Every value can be shown as text.
            if self.types[known + 1] != type { self.types[known + 1] = .text }
        }
        if log.types != nil || self.types.contains(where: { $0 != .number }) { log.types = self.types }
    }
}
