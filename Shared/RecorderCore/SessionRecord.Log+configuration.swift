package import Messages
package import Recording

extension SessionRecord.Log {
    /// Takes what log-manager says of the log, as far as the recording left it open.
    package mutating func configure(by configuration: LogConfiguration?, in session: SessionRecord) {
        guard let configuration else { return }
        if session.isFormatDefault == true, let format = configuration.format.flatMap({ LogFormat(rawValue: $0) }),
            format != session.format
        {
            self.format = format
        }
        limit(by: configuration, in: session)
    }

    /// Takes the limits of the log's files, as far as the recording left them open.
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
