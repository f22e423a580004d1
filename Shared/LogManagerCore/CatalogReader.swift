package import Files
package import Messages
package import Recording

/// The durable state of the catalog. It is changed only by effects.
package protocol CatalogReader: AnyObject {
    /// Without files that are being removed.
    var usage: CatalogUsage { get }
    var thresholds: LogThresholds { get }
    /// Each threshold as of the last comparison, in the order of `Threshold.Kind.allCases`.
    var crossings: [Threshold] { get }
    /// The known sessions, by name.
    var sessions: [SessionIdentifier] { get }

    var rules: LogRules { get }
    /// Whether a session is known and was not over at the last look.
    func isOpen(_ session: SessionIdentifier) -> Bool
    /// The file at a path; nil if there is none, or if it is being removed.
    func file(at path: String) throws(RecordingError) -> CatalogFile?
    /// Files in the order in which they were finished; those of the same time by path.
    /// - Parameters:
    ///   - log: nil for all logs.
    ///   - isPending: true for files not marked as uploaded, false for marked ones, nil for all.
    ///   - after: the path of the file before the first one.
    func files(of log: LogName?, isPending: Bool?, after: String?, limit: Int) throws(RecordingError) -> [CatalogFile]
    /// The ledger: files that are being removed, in the order in which they were added to the catalog.
    func interruptedRemovals() throws(RecordingError) -> [InterruptedRemoval]
}
