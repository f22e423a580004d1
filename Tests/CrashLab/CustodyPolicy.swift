/// The automatic removal for which a log-manager is configured.
struct CustodyPolicy: Hashable, Sendable {
    /// Whether files that were not uploaded may be removed.
    let takesPending: Bool
    /// The total bytes that may stay.
    let total: Int

    /// The log-manager's options.
    var options: [String] {
        ["--when-full", takesPending ? "oldest" : "uploaded-only", "--total-threshold", "\(total)"]
    }
}
