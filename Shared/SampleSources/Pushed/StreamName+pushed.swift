package import Messages

extension StreamName {
    /// The name of a stream that a client pushes.
    /// - Throws: `invalidParameter` for a name that cannot be part of topics and file names.
    package init(pushed device: String, _ stream: String) throws(PublisherError) {
        try StreamConfiguration.validate(name: device, of: "device")
        try StreamConfiguration.validate(name: stream, of: "stream")
        guard !device.hasPrefix("."), !stream.hasPrefix(".") else {
            throw PublisherError(.invalidParameter, "device and stream: a name must not begin with \".\"")
        }
        self.init(device: device, stream: stream)
    }
}
