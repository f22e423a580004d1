/// A row of the catalog that makes no sense: somebody else wrote it, or the disk spoiled it.
struct UnreadableRow: Error, CustomStringConvertible {
    /// What makes no sense.
    let description: String

    init(_ description: String) { self.description = description }
}
