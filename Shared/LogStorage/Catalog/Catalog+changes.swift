package import Files
package import LogManagerCore
import Recording

extension Catalog {
    /// Carries out a change, which is durable when this returns. After an error, nothing has changed.
    /// - Returns: the changed files in their new state.
    package func apply(_ change: CatalogChange) throws(RecordingError) -> [CatalogFile] {
        switch change {
        case .add(let file): try add(file)
        case .mark(let files, let receipt, let date): return try mark(files, receipt: receipt, date: date)
        case .unmark(let files): return try unmark(files)
        case .beginRemoval(let files, let reason, let date):
            return try beginRemoval(of: files, reason: reason, date: date)
        case .endRemoval(let files): try endRemoval(of: files)
        case .takeBack(let files): try takeBack(files)
        case .setRule(let configuration, let pattern): try set(configuration, for: pattern)
        case .removeRule(let pattern): try removeRule(of: pattern)
        case .setThresholds(let thresholds): try setThresholds(thresholds)
        case .setCrossing(let threshold): try setCrossing(threshold)
        }
        return []
    }
}
