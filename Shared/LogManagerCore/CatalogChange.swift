package import Messages
package import Recording

/// A transaction of the catalog: durable as a whole, or without any effect. Its result is the files that it changed, as they
/// are then; files that are not in the catalog any more are passed over.
package enum CatalogChange: Hashable, Sendable {
    /// A finished file.
    case add(ScannedFile)
    case mark([CatalogFile], receipt: JSONValue?, date: WallTime)
    case unmark([CatalogFile])
    /// Enters files into the ledger. They do not count any more, and are in no list.
    case beginRemoval([CatalogFile], RemovalReason, WallTime)
    /// Forgets files that were removed.
    case endRemoval([CatalogFile])
    /// Takes files out of the ledger that are not removed after all. They are as they were before, with their marks.
    case takeBack([CatalogFile])
    /// How a log or those of a pattern are to be written.
    case setRule(LogConfiguration, LogPattern)
    case removeRule(LogPattern)
    case setThresholds(LogThresholds)
    case setCrossing(Threshold)

    /// Whether it may use the space that is reserved for a full disk: what frees space, and what must not be forgotten.
    var mayUseReserve: Bool {
        switch self {
        case .mark, .unmark, .beginRemoval, .endRemoval, .takeBack, .setCrossing: true
        case .add, .setRule, .removeRule, .setThresholds: false
        }
    }
}
