package import Logging

extension LoggingSystem {
    /// Sends every log line to standard error from a level on. Only a program's main calls this, once.
    package static func bootstrapStandardError(from level: Logger.Level) {
        bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = level
            return handler
        }
    }
}
