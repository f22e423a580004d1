/// A kind of web server that keeps files: how it is asked, and what it answers.
protocol ObjectStore: Sendable {
    /// Where a file of this name is, or would be, without secrets.
    func location(of name: String) -> String

    /// A request about a file that is there, perhaps: HEAD or GET.
    func request(_ method: String, _ name: String) throws(UploadError) -> HTTPRequest

    /// Whether an interrupted upload may leave the file's first bytes under its name.
    var keepsFragments: Bool { get }

    /// Sends a file, but not in the place of another one.
    /// - Parameter fragment: the file's first bytes, which are there and are replaced; `nil` if nothing is there.
    /// - Returns: what the server said about the file when it took it; `nil` if there is one of this name already.
    func put(
        _ source: SourceFile, replacing fragment: RemoteObject?, over connection: HTTPConnection,
        _ throttle: UploadThrottle
    ) throws(UploadError) -> RemoteObject?

    /// Why an answer is none of success.
    func refusal(_ response: HTTPResponse, of name: String) -> UploadError
}
