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
        if session.limits.maximumFileSize == nil, configuration.maximumFileSize > 0 {
            maximumFileSize = configuration.maximumFileSize
        }
        if session.limits.maximumFileAge == nil, configuration.maximumFileAge > 0, configuration.maximumFileAge < 1e9 {
            maximumFileAge = configuration.maximumFileAge
        }
    }
}
