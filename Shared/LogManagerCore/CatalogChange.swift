package import Messages
package import Recording

/// A catalog transaction: durable as a whole, or without any effect. Its result is the changed files in their new state; files
/// that are no longer in the catalog are skipped.
package enum CatalogChange: Hashable, Sendable {
    case add(ScannedFile)
    case mark([CatalogFile], receipt: JSONValue?, date: WallTime)
    case unmark([CatalogFile])
    /// Enters files into the ledger. They no longer count, and appear in no list.
    case beginRemoval([CatalogFile], RemovalReason, WallTime)
    case endRemoval([CatalogFile])
    /// Takes files that are not removed after all out of the ledger, with the marks they had before.
    case takeBack([CatalogFile])
    /// How a log, or the logs of a pattern, are written.
    case setRule(LogConfiguration, LogPattern)
    case removeRule(LogPattern)
    case setThresholds(LogThresholds)
    case setCrossing(Threshold)

    /// Whether the change may use the space reserved for a full disk: it frees space, or must not be lost.
    var mayUseReserve: Bool {
        switch self {
        case .mark, .unmark, .beginRemoval, .endRemoval, .takeBack, .setCrossing: true
        case .add, .setRule, .removeRule, .setThresholds: false
        }
    }
}
