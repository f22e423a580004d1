package import Logging

extension LoggingSystem {
    /// Sends log lines of at least a level to standard error. Only a program's main calls this, once.
    package static func bootstrapStandardError(from level: Logger.Level, as format: LogStyle = .text) {
        bootstrap { label in
            var handler: any LogHandler =
                switch format {
                case .text: StreamLogHandler(label: label, stream: LogText())
                case .json: JSONLogHandler(program: label)
                }
            handler.logLevel = level
            return handler
        }
    }
}
