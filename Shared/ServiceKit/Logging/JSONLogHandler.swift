import Logging

/// Writes each log line to standard error as one JSON object, in one piece.
struct JSONLogHandler: LogHandler {
    private let program: String
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(program: String) { self.program = program }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var fields = metadata
        if let provided = metadataProvider?.get() { fields.merge(provided) { $1 } }
        if let own = event.metadata { fields.merge(own) { $1 } }
        if let error = event.error, fields[LogKey.error] == nil { fields[LogKey.error] = "\(error)" }
        StandardStream.error.print(
            LogLine(level: event.level, program: program, message: event.message.description, metadata: fields).bytes)
    }
}
