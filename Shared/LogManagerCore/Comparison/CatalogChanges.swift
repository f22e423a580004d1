/// Differences between disk and catalog that a look at the disk found.
package struct CatalogChanges: Hashable, Sendable {
    /// How many files were added.
    package var added = 0
    /// Files that somebody else removed. They are no longer in the catalog.
    package var gone: [CatalogFile] = []
    /// Files whose bytes changed, as they were before. Their hashes and marks are forgotten.
    package var changed: [CatalogFile] = []

    /// The session's remains if it is over; nil if it is not, or is gone.
    package var remains: SessionRemains?

    package init() {}

    package var isEmpty: Bool { added == 0 && gone.isEmpty && changed.isEmpty }

    /// Adds the differences of another look.
    package static func += (all: inout CatalogChanges, more: CatalogChanges) {
        all.added += more.added
        all.gone += more.gone
        all.changed += more.changed
        all.remains = more.remains ?? all.remains
    }
}
