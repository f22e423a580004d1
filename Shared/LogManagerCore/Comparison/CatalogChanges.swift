/// What a look at the disk found that the catalog did not know.
package struct CatalogChanges: Hashable, Sendable {
    /// Files that came, by their number.
    package var added = 0
    /// Files that went without our doing. They are no longer in the catalog.
    package var gone: [CatalogFile] = []
    /// Files with other bytes than before, as they were. Their hashes and marks are forgotten.
    package var changed: [CatalogFile] = []

    /// What the session has besides finished files, if it is over; nil if it is not, or is gone.
    package var remains: SessionRemains?

    package init() {}

    package var isEmpty: Bool { added == 0 && gone.isEmpty && changed.isEmpty }

    /// Adds those of another look.
    package static func += (all: inout CatalogChanges, more: CatalogChanges) {
        all.added += more.added
        all.gone += more.gone
        all.changed += more.changed
        all.remains = more.remains ?? all.remains
    }
}
