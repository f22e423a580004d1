package import Files
package import Messages
package import Recording

/// What the catalog has now. Changes are effects: only what is durable can be read here.
package protocol CatalogReader: AnyObject {
    /// Files that are being removed do not count.
    var usage: CatalogUsage { get }
    var thresholds: LogThresholds { get }
    /// Whether each threshold was crossed when it was compared last, in the order of `Threshold.Kind.allCases`.
    var crossings: [Threshold] { get }
    /// Sessions of which something is known, by name.
    var sessions: [SessionIdentifier] { get }

    /// How logs are to be written.
    var rules: LogRules { get }
    /// Whether a session is known, and was not over when it was looked at last.
    func isOpen(_ session: SessionIdentifier) -> Bool
    /// The file at a path; nil if there is none, or if it is being removed.
    func file(at path: String) throws(RecordingError) -> CatalogFile?
    /// Files in the order in which they were finished, by path if that was at the same time.
    /// - Parameters:
    ///   - log: nil for all logs.
    ///   - isPending: whether they are not marked as uploaded; nil for all files.
    ///   - after: the path of the file before the first one.
    func files(of log: LogName?, isPending: Bool?, after: String?, limit: Int) throws(RecordingError) -> [CatalogFile]
    /// The ledger: files that are being removed, in the order in which they were added to the catalog.
    func interruptedRemovals() throws(RecordingError) -> [InterruptedRemoval]
}
