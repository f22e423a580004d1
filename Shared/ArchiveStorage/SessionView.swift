/// What is on disk of a session and of its archive, that decides what is next.
package struct SessionView: Hashable, Sendable {
    /// Whether the session's directory is there.
    package var exists = false
    /// Whether nothing more will be written to it: its files can be archived.
    package var isOver = false
    /// What was made of it; `nil` before, and once there is a receipt.
    package var record: ArchiveRecord?
    /// What the receiver confirmed.
    package var receipt: ArchiveReceipt?
    /// Whether the session was cancelled.
    package var isCancelled = false
    /// Whether the session was discarded, and `archives/` still has something of it.
    package var isDiscarded = false
    /// Whether its archives are there: all that are in `record`, or any of those in `receipt`.
    package var archiveExists = false
    /// What is still here of an earlier session of this name, which was removed; nil if nothing is.
    package var earlier: Earlier?

    /// Archives of an earlier session, of which the session's own would take the names.
    package struct Earlier: Hashable, Sendable {
        /// What was made of it, if that was not delivered.
        package var record: ArchiveRecord?
        /// What the receiver confirmed of it.
        package var receipt: ArchiveReceipt?
        /// The names of its archives that are here, at least one.
        package var archives: [String]

        package init(record: ArchiveRecord? = nil, receipt: ArchiveReceipt? = nil, archives: [String]) {
            self.record = record
            self.receipt = receipt
            self.archives = archives
        }
    }

    package init(
        exists: Bool = false, isOver: Bool = false, record: ArchiveRecord? = nil, receipt: ArchiveReceipt? = nil,
        archiveExists: Bool = false
    ) {
        self.exists = exists
        self.isOver = isOver
        self.record = record
        self.receipt = receipt
        self.archiveExists = archiveExists
    }

    /// Takes that the receiver has what was uploaded.
    package mutating func deliver(_ new: ArchiveReceipt) {
        if earlier != nil {
            earlier?.record = nil
            earlier?.receipt = new
        } else {
            record = nil
            receipt = new
        }
    }

    package var archives: [ArchiveRecord.Archive] {
        receipt.map { $0.archives.map(\.archive) } ?? record?.archives ?? []
    }
}
