package import Files
import GRDB
package import Messages
import StepCounterCore
package import StepDetection
import Storage
package import SystemPackage

/// Answers queries of the step history over a connection of its own: a commit does not wait for a long query.
///
/// Not Sendable: one thread uses it, and waits for the disk there.
package final class StepHistoryReader {
    /// The most spans that a query reads: 6 MB.
    private static let maximumSpans = 100_000

    private let database: DatabaseFile
    private let keep: Int64

    /// Opens the history of a data directory, which `StepHistory` has open.
    ///
    /// - Parameter keep: the maximum age of steps, in nanoseconds. Older ones are not counted, even if they are not removed yet.
    package init(in data: FilePath, keep: Int64) throws(RecordingError) {
        database = try DatabaseFile(reading: StepHistory.path(in: data), whenDamaged: StepHistory.cure)
        self.keep = keep
    }

    /// Counts the steps of a range.
    /// - Parameter settings: the settings with which the device is counted.
    /// - Throws: `invalidParameter` if the range is reversed, or its bins are impossible.
    package func answer(
        _ query: StepsQuery, at now: WallTime, countedWith settings: StepDetectorSettings = StepDetectorSettings()
    ) throws(RecordingError) -> StepsQuery.Reply {
        let range = try StepRange(query)
        let (nanoseconds, isBefore1678) = now.nanosecondsSince1970.subtractingReportingOverflow(keep)
        let oldest = WallTime(nanosecondsSince1970: isBefore1678 ? .min : nanoseconds)
        return try database.readSnapshot { database in
            let begun = try Int64.fetchOne(database, sql: "SELECT begun FROM history") ?? .max
            let device = try Int64.fetchOne(
                database, sql: "SELECT id FROM device WHERE name = ?", arguments: [query.device])
            let first = try Int64.fetchOne(
                database, sql: "SELECT MIN(date) FROM step WHERE device = ?", arguments: [device])
            let following = try database.cachedStatement(
                sql: "SELECT MIN(date) FROM step WHERE device = ? AND date >= ?")
            let statement = try database.cachedStatement(
                sql: """
                    SELECT SUM(steps), COALESCE(SUM(expected), 0), COUNT(*) > COUNT(expected)
                    FROM step WHERE device = ? AND date >= ? AND date < ?
                    """)
            let known = WallTime(nanosecondsSince1970: min(begun, first ?? begun))
            var reply = StepsQuery.Reply(numberOfSteps: 0, firstAvailable: max(oldest, known))
            var bins: [StepsQuery.Bin] = []
            var sum = StepSum()
            // Of up to 10,000 bins most are empty: the date of the next step shows which, and they need no query.
            var next = try Int64.fetchOne(
                following, arguments: [device, max(range.from, oldest).nanosecondsSince1970])
            try range.forEachBin { from, to in
                var own = StepSum()
                let end = to.nanosecondsSince1970
                if let date = next, date < end {
                    own = try Row.fetchOne(statement, arguments: [device, date, end]).map(StepSum.init) ?? own
                    next = try Int64.fetchOne(following, arguments: [device, end])
                }
                sum.add(own)
                guard query.interval != nil else { return }
                bins.append(
                    StepsQuery.Bin(
                        from: from, to: to, numberOfSteps: own.steps, expectedError: own.expectedError(settings)))
            }
            reply.numberOfSteps = sum.steps
            reply.expectedError = sum.expectedError(settings)
            if query.bouts == true { reply.bouts = [] }
            if query.gait == true || query.bouts == true, let device {
                let steps = try Self.steps(of: device, from: max(range.from, oldest), to: range.to, in: database)
                if query.bouts == true { reply.bouts = try Self.bouts(in: steps) }
                let times = query.gait == true ? steps.map(\.date) : []
                reply.gait = Self.gait(of: times[...])
                var rest = times[...]
                for index in bins.indices {
                    let own = rest.prefix { $0 < bins[index].to }
                    rest = rest.dropFirst(own.count)
                    bins[index].gait = Self.gait(of: own)
                }
            }
            let isKnown = try device != nil || Self.hasStream(of: query.device, in: database)
            reply.isKnown = isKnown
            if query.interval != nil { reply.bins = bins }
            guard range.from < range.to else { return reply }
            let pieces = range.from..<range.to
            if let spans = try Self.spans(of: device, around: pieces, in: database) {
                Self.add(
                    Coverage(
                        of: pieces, in: spans.spans, hasEarlier: spans.hasEarlier, keptFrom: isKnown ? oldest : nil),
                    to: &reply)
            }
            return reply
        }
    }

    /// The number of steps, how many of them are expected to be true (in thousandths), and whether some lack this figure.
    private struct StepSum {
        private(set) var steps = 0
        private var thousandths = 0
        private var isIncomplete = false

        init() {}

        init(_ row: Row) {
            steps = row[0]
            thousandths = row[1]
            isIncomplete = row[2]
        }

        mutating func add(_ other: Self) {
            steps += other.steps
            thousandths += other.thousandths
            isIncomplete = isIncomplete || other.isIncomplete
        }

        func expectedError(_ settings: StepDetectorSettings) -> StepError? {
            if steps == 0 || isIncomplete { return nil }
            return StepError(steps: steps, expected: Double(thousandths) / 1000, settings)
        }
    }

    /// Steps in order. Of two with the same date, after a clock was set back, one counts.
    /// - Throws: `invalidParameter` if there are too many.
    private static func steps(
        of device: Int64, from: WallTime, to: WallTime, in database: Database
    ) throws -> [CountedStep] {
        let rows = try Row.fetchCursor(
            database.cachedStatement(
                sql: "SELECT date, expected FROM step WHERE device = ? AND date >= ? AND date < ? ORDER BY date LIMIT ?"
            ),
            arguments: [
                device, from.nanosecondsSince1970, to.nanosecondsSince1970, StepsQuery.maximumGaitSteps + 1,
            ])
        var steps: [CountedStep] = []
        while let row = try rows.next() {
            steps.append(
                CountedStep(
                    date: WallTime(nanosecondsSince1970: row[0]),
                    expected: (row[1] as Int64?).map { Double($0) / 1000 }))
        }
        guard steps.count <= StepsQuery.maximumGaitSteps else {
            throw RecordingError(
                .invalidParameter, action: "measure gait",
                reason: "the range has more than \(StepsQuery.maximumGaitSteps) steps",
                advice: "Ask for the range in parts.")
        }
        return steps
    }

    /// Divides steps into bouts.
    /// - Throws: `invalidParameter` if there are too many.
    private static func bouts(in steps: [CountedStep]) throws -> [StepsQuery.Bout] {
        guard let first = steps.first else { return [] }
        let bouts = GaitSummary.bouts(in: steps.map { $0.date.secondsOfSteps(since: first.date) })
        guard bouts.count <= StepsQuery.maximumBouts else {
            throw RecordingError(
                .invalidParameter, action: "list bouts",
                reason: "the range has \(bouts.count), and an answer up to \(StepsQuery.maximumBouts)",
                advice: "Ask for the range in parts.")
        }
        return bouts.map { times in
            var summary = GaitSummary()
            summary.add(bout: times)
            let own = steps[times.indices]
            return StepsQuery.Bout(
                from: own[own.startIndex].date, to: own[own.endIndex - 1].date, numberOfSteps: own.count,
                confidence: confidence(of: own), gait: summary.measures)
        }
    }

    /// The gait of steps. If a bout spans two bins, each bin has its part.
    private static func gait(of dates: ArraySlice<WallTime>) -> GaitMeasures? {
        guard let first = dates.first else { return nil }
        var summary = GaitSummary()
        let times = dates.map { $0.secondsOfSteps(since: first) }
        for bout in GaitSummary.bouts(in: times) { summary.add(bout: bout) }
        return summary.measures
    }

    /// The probability that steps of one bout are walking; nil if it is unknown for some. For a part of a bout it is approximate.
    private static func confidence(of steps: ArraySlice<CountedStep>) -> Double? {
        var expected = 0.0
        for step in steps {
            guard let own = step.expected else { return nil }
            expected += own
        }
        return max(0, min(1, expected / Double(steps.count)))
    }

    private static func add(_ coverage: Coverage, to reply: inout StepsQuery.Reply) {
        reply.coverage = coverage.share
        reply.gaps = Array(coverage.gaps.prefix(StepsQuery.maximumGaps))
        if coverage.gaps.count > StepsQuery.maximumGaps {
            reply.gapsOmitted = coverage.gaps.count - StepsQuery.maximumGaps
        }
        guard let bins = reply.bins else { return }
        for (index, share) in coverage.shares(of: bins.map { $0.from..<$0.to }).enumerated() {
            reply.bins?[index].coverage = share
        }
    }

    /// Whether a device is counted; it may not have had a sample yet.
    private static func hasStream(of device: String, in database: Database) throws -> Bool {
        let name = "\(device)/"
        return try Bool.fetchOne(
            database, sql: "SELECT EXISTS (SELECT 1 FROM stream WHERE substr(name, 1, length(?1)) = ?1)",
            arguments: [name]) ?? false
    }

    /// The spans in a range, and the next one; nil if there are too many.
    private static func spans(
        of device: Int64?, around range: Range<WallTime>, in database: Database
    ) throws -> (spans: [CountedSpan], hasEarlier: Bool)? {
        guard let device else { return ([], false) }
        let (from, to) = (range.lowerBound.nanosecondsSince1970, range.upperBound.nanosecondsSince1970)
        let columns = "SELECT number, start, \"end\", lost, reason FROM span WHERE device = ?"
        let inside = try Row.fetchAll(
            database.cachedStatement(
                sql: "\(columns) AND start < ? AND \"end\" >= ? ORDER BY start, number LIMIT \(maximumSpans + 1)"),
            arguments: [device, to, from])
        guard inside.count <= maximumSpans else { return nil }
        let next = try Row.fetchOne(
            database.cachedStatement(sql: "\(columns) AND start >= ? ORDER BY start, number LIMIT 1"),
            arguments: [device, to])
        let hasEarlier =
            try Bool.fetchOne(
                database.cachedStatement(
                    sql: "SELECT EXISTS (SELECT 1 FROM span WHERE device = ? AND start < ? AND \"end\" < ?)"),
                arguments: [device, to, from]) ?? false
        return ((inside + (next.map { [$0] } ?? [])).map { CountedSpan($0, from: 0) }, hasEarlier)
    }
}

extension WallTime {
    /// Seconds since the first step: seconds since 1970 have no microseconds as floating-point numbers.
    fileprivate func secondsOfSteps(since first: WallTime) -> Double { Double(distance(from: first)) * 1e-9 }
}
