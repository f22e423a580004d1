package import Messages

/// A ledger entry: a removal that was begun.
package struct InterruptedRemoval: Hashable, Sendable {
    package let file: CatalogFile
    package let reason: RemovalReason
    package let date: WallTime

    package init(file: CatalogFile, reason: RemovalReason, date: WallTime) {
        self.file = file
        self.reason = reason
        self.date = date
    }
}
