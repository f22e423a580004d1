/// A destination for archives: accepts a file and proves that it has it.
///
/// Calls block their thread.
protocol Receiver: Sendable {
    /// The location of the file of this name, existing or not, without secrets.
    func location(of name: String) -> String

    /// Uploads a file, unless the receiver already has it.
    /// - Parameters:
    ///   - connection: for receivers that are web servers.
    ///   - throttle: limits the rate and cancels the upload.
    /// - Returns: the receiver's confirmation.
    /// - Throws: if the receiver did not confirm the complete file.
    func upload(
        _ source: SourceFile, over connection: HTTPConnection, _ throttle: UploadThrottle
    ) throws(UploadError) -> UploadConfirmation
}
