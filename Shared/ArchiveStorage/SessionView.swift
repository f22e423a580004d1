import Archives

/// The state of a session and its archives on disk, which determines the next step.
package struct SessionView: Hashable, Sendable {
    package var exists = false
    /// Whether the session is complete and can be archived.
    package var isOver = false
    /// The record of the session's archives; `nil` before they are made, and once there is a receipt.
    package var record: ArchiveRecord?
    /// The receiver's confirmation.
    package var receipt: ArchiveReceipt?
    package var isCancelled = false
    /// Whether the session was discarded and `archives/` still contains files of it.
    package var isDiscarded = false
    /// Whether the archives exist: all of those in `record`, or any of those in `receipt`.
    package var archiveExists = false
    /// The remaining archives of an earlier, removed session of this name; nil if there are none.
    package var earlier: Earlier?

    /// Archives of an earlier session whose names the current session's archives would take.
    package struct Earlier: Hashable, Sendable {
        /// The record of the archives, if they were not delivered.
        package var record: ArchiveRecord?
        /// The receiver's confirmation of the archives.
        package var receipt: ArchiveReceipt?
        /// The names of the existing archives, at least one.
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

    /// Notes that the receiver has the uploaded archives.
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

    /// Files that could not be archived.
    package var leftOut: [String] { (receipt?.leftOut ?? record?.leftOut ?? []).map(\.filename) }
}
