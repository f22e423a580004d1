import ZeroMQ

/// Uploads one file at a time on its own thread, which may block on disks and networks.
actor UploadWorker {
    private let receiver: any Receiver
    private let options: HTTPOptions
    private let thread: SocketThread
    private var connection: HTTPConnection?

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init(_ number: Int, receiver: any Receiver, options: HTTPOptions) throws(ZeroMQError) {
        self.receiver = receiver
        self.options = options
        thread = try SocketThread(name: "upload-\(number)")
    }

    /// Makes one attempt.
    func upload(_ source: SourceFile, _ throttle: UploadThrottle) -> Result<UploadConfirmation, UploadError> {
        Result { () throws(UploadError) in
            let location = receiver.location(of: source.archive.name)
            if throttle.isCancelled { throw .cancelled(at: location) }
            return try receiver.upload(source, over: try openConnection(location), throttle)
        }
    }

    /// Reuses the connection of the previous file.
    private func openConnection(_ location: String) throws(UploadError) -> HTTPConnection {
        if let connection { return connection }
        do throws(HTTPFailure) {
            let connection = try HTTPConnection(options)
            self.connection = connection
            return connection
        } catch {
            throw UploadError(error, at: location)
        }
    }
}
