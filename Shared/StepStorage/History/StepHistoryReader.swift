package import Files
import GRDB
package import Messages
import Storage
package import SystemPackage

/// Answers queries of the step history over a connection of its own: a commit does not wait for a long query.
///
/// Not Sendable: one thread uses it, and waits for the disk there.
package final class StepHistoryReader {
    private let database: DatabaseFile
    private let keep: Int64

    /// Opens the history of a data directory, which `StepHistory` has open.
    ///
    /// - Parameter keep: how old steps may be, in nanoseconds. Older ones are not counted, whether they are removed already or
    ///   not.
    package init(in data: FilePath, keep: Int64) throws(RecordingError) {
        database = try DatabaseFile(reading: StepHistory.path(in: data), whenDamaged: StepHistory.cure)
        self.keep = keep
    }

    /// Counts the steps of a range.
    /// - Throws: `invalidParameter` if the range is reversed, or its bins make no sense.
    package func answer(_ query: StepsQuery, at now: WallTime) throws(RecordingError) -> StepsQuery.Reply {
        let range = try StepRange(query)
        let (nanoseconds, isBefore1678) = now.nanosecondsSince1970.subtractingReportingOverflow(keep)
        let oldest = WallTime(nanosecondsSince1970: isBefore1678 ? .min : nanoseconds)
        return try database.readSnapshot { database in
            let begun = try Int64.fetchOne(database, sql: "SELECT begun FROM history") ?? .max
            let device = try Int64.fetchOne(
                database, sql: "SELECT id FROM device WHERE name = ?", arguments: [query.device])
            let first = try Int64.fetchOne(
                database, sql: "SELECT MIN(date) FROM step WHERE device = ?", arguments: [device])
            let statement = try database.cachedStatement(
                sql: "SELECT COALESCE(SUM(steps), 0) FROM step WHERE device = ? AND date >= ? AND date < ?")
            let known = WallTime(nanosecondsSince1970: min(begun, first ?? begun))
            var reply = StepsQuery.Reply(numberOfSteps: 0, firstAvailable: max(oldest, known))
            var bins: [StepsQuery.Bin] = []
            try range.forEachBin { from, to in
                let steps =
                    try Int.fetchOne(
                        statement,
                        arguments: [device, max(from, oldest).nanosecondsSince1970, to.nanosecondsSince1970]) ?? 0
                reply.numberOfSteps += steps
                if query.interval != nil { bins.append(StepsQuery.Bin(from: from, to: to, numberOfSteps: steps)) }
            }
            if query.interval != nil { reply.bins = bins }
            return reply
        }
    }
}
