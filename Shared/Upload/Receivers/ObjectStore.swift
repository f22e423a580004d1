/// A kind of file storage on web servers: its requests and responses.
protocol ObjectStore: Sendable {
    /// The location of the file of this name, existing or not, without secrets.
    func location(of name: String) -> String

    /// A HEAD or GET request for a file that may exist.
    func request(_ method: String, _ name: String) throws(UploadError) -> HTTPRequest

    /// Whether an interrupted upload may leave the file's first bytes under its name.
    var keepsFragments: Bool { get }

    /// Sends a file, without replacing a different file.
    /// - Parameter fragment: the file's first bytes, to be replaced; `nil` if there is no file.
    /// - Returns: the server's description of the stored file; `nil` if a file of this name already exists.
    func put(
        _ source: SourceFile, replacing fragment: RemoteObject?, over connection: HTTPConnection,
        _ throttle: UploadThrottle
    ) throws(UploadError) -> RemoteObject?

    /// The error for an unsuccessful response.
    func refusal(_ response: HTTPResponse, of name: String) -> UploadError
}
