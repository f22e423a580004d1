/// What a log-manager was told to remove by itself.
struct CustodyPolicy: Hashable, Sendable {
    /// Whether files may go that were not uploaded.
    let takesPending: Bool
    /// How many bytes may stay.
    let total: Int

    /// The log-manager's options.
    var options: [String] {
        ["--when-full", takesPending ? "oldest" : "uploaded-only", "--total-threshold", "\(total)"]
    }
}
