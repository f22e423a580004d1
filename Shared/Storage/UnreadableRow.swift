/// An invalid row: another program wrote it, or the disk corrupted it.
package struct UnreadableRow: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
