package import Messages
package import Recording

extension SessionRecord.Log {
    /// Applies log-manager's configuration of the log, except what the recording itself determines.
    package mutating func configure(by configuration: LogConfiguration?, in session: SessionRecord) {
        guard let configuration else { return }
        if session.isFormatDefault == true, let format = configuration.format.flatMap({ LogFormat(rawValue: $0) }),
            format != session.format
        {
            self.format = format
        }
        limit(by: configuration, in: session)
    }

    /// Applies limits of the log's files, except those that the recording itself determines.
    package mutating func limit(by configuration: LogConfiguration, in session: SessionRecord) {
        if session.limits.maximumFileSize == nil {
            maximumFileSize = configuration.maximumFileSize > 0 ? configuration.maximumFileSize : nil
        }
        if session.limits.maximumFileAge == nil {
            let age = configuration.maximumFileAge
            maximumFileAge = age > 0 && age < 1e9 ? age : nil
        }
    }
}
