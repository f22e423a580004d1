/// Where archives are brought: takes a file and shows that it has it.
///
/// Calls wait on the thread that makes them.
protocol Receiver: Sendable {
    /// Where a file of this name is, or would be, without secrets.
    func location(of name: String) -> String

    /// Brings a file there, once: what is there already is not sent again.
    /// - Parameters:
    ///   - connection: to web servers, for receivers that are one.
    ///   - pace: says how fast, and when to end.
    /// - Returns: what the receiver confirmed.
    /// - Throws: where it did not confirm that it has all of the file, whatever arrived.
    func upload(
        _ source: SourceFile, over connection: HTTPConnection, _ throttle: UploadThrottle
    ) throws(UploadError) -> UploadConfirmation
}
