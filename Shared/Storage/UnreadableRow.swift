/// A row that makes no sense: somebody else wrote it, or the disk spoiled it.
package struct UnreadableRow: Error, CustomStringConvertible {
    /// What makes no sense.
    package let description: String

    package init(_ description: String) { self.description = description }
}
