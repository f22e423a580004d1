package import Files
import FoundationEssentials
import GRDB
package import Messages
import Recording
package import StepCounterCore
import StepDetection
package import Storage
package import SystemPackage

/// The counted steps, by device and date; the positions of streams; and the subscriptions. An SQLite database,
/// `<data>/steps/steps.sqlite`.
///
/// A commit is one transaction and durable when it returns: a kill neither loses nor duplicates a step, and a power cut costs at
/// most what was counted since the last commit. That is why commits are synced (`synchronous = FULL`) and not only written: after
/// a power cut no publisher may be left that has the samples. One sync a second costs little.
///
/// Not Sendable: one thread uses it, and waits for the disk there. The program that opens it holds the lock of the directory
/// (`DataLock`). Queries use `StepHistoryReader`. Errors are `RecordingError`.
package final class StepHistory {
    package let database: DatabaseFile
    /// The row IDs of devices that have steps or spans.
    private var devices: [String: Int64]
    private let discards: DiscardLedger
    /// The number of discarded sessions that need no further removals.
    private var settledDiscards = 0
    /// Whether the last commit failed: its contents wait in memory.
    private var isBehind = false
    /// Whether the database's write-ahead log may still contain discarded data.
    private var isLogStale = false

    /// Opens or creates the history of a data directory.
    /// - Parameter now: the beginning of a new history, on this machine's clock.
    /// - Throws: `unreadable` if there is a database that cannot be read. It is not changed.
    package init(in data: FilePath, at now: WallTime) throws(RecordingError) {
        database = try DatabaseFile(
            Self.path(in: data), migrator: StepHistorySchema.migrator(at: now), of: "step-counter",
            whenDamaged: Self.cure)
        discards = DiscardLedger(in: data)
        devices = try database.read(Self.devices)
    }

    package static let directoryName = "steps"

    /// The path of a data directory's history.
    package static func path(in data: FilePath) -> FilePath {
        data.appending(directoryName).appending("steps.sqlite")
    }

    static let cure =
        "Put a backup in its place; or move the steps directory away and start again, which begins a new history with "
        + "what the publishers still have."

    /// Checks the history of a data directory without changing it, if there is one.
    /// - Throws: `unreadable` if the history is damaged.
    package static func check(in data: FilePath) throws(RecordingError) {
        try DatabaseFile.check(path(in: data), whenDamaged: cure)
    }

    private static func devices(_ database: Database) throws -> [String: Int64] {
        var devices: [String: Int64] = [:]
        for row in try Row.fetchAll(database, sql: "SELECT name, id FROM device") { devices[row[0]] = row[1] }
        return devices
    }

    // MARK: Continuing after a restart

    /// The position of each stream, with the detector's state if one of that epoch was stored.
    package func positions() throws(RecordingError) -> [StreamName: StreamPosition] {
        try database.read { database in
            var positions: [StreamName: StreamPosition] = [:]
            let rows = try Row.fetchAll(
                database,
                sql: """
                    SELECT name, stream.epoch, stream.next, detector.next, state, settings, boutStart, dates
                    FROM stream LEFT JOIN detector ON detector.stream = stream.id AND detector.epoch = stream.epoch
                    """)
            for row in rows {
                let text: String = row[0]
                guard let name = StreamName(text) else { throw UnreadableRow("\"\(text)\" is not a stream's name") }
                var position = StreamPosition(epoch: row[1], next: row[2])
                let settings = (row[5] as String?)
                    // Unknown settings are not those that this program runs with.
                    .flatMap { try? WireCoding.decode(StepDetectorSettings.self, from: $0.utf8) }
                if let settings {
                    position.snapshot = DetectorSnapshot(
                        next: row[3], state: [UInt8](row[4] as Data), settings: settings,
                        boutStart: (row[6] as Int64?).map { WallTime(nanosecondsSince1970: $0) },
                        dates: try (row[7] as String?).map { try WireCoding.decode(UptimeOffsets.self, from: $0.utf8) }
                            ?? UptimeOffsets())
                }
                positions[name] = position
            }
            return positions
        }
    }

    /// The last spans of each device, in the order of their numbers, without the remainders before discarded sessions.
    package func spans() throws(RecordingError) -> [String: [CountedSpan]] {
        try database.read { database in
            var spans: [String: [CountedSpan]] = [:]
            let rows = try Row.fetchAll(
                database,
                sql: """
                    SELECT name, number, start, "end", lost, reason FROM (
                        SELECT *, ROW_NUMBER() OVER (PARTITION BY device ORDER BY number DESC) AS age
                        FROM span WHERE number > 0
                    ) AS span JOIN device ON device.id = span.device WHERE age <= ? ORDER BY device, number
                    """, arguments: [StoredHistory.maximumSpans])
            for row in rows { spans[row[0], default: []].append(CountedSpan(row, from: 1)) }
            return spans
        }
    }

    /// The subscriptions, in the order of their starts.
    package func subscriptions() throws(RecordingError) -> [StepSubscription] {
        try database.read { database in
            let rows = try Row.fetchAll(
                database,
                sql: """
                    SELECT id, device, updateOn, startDate, numberOfSteps, lastDate, name, countedFrom, renewedDate, lifetime
                    FROM subscription ORDER BY startDate, id
                    """)
            return try rows.map { row in
                let updateOn: Int = row[2]
                guard updateOn > 0 else { throw UnreadableRow("a subscription is notified of \(updateOn) steps") }
                return StepSubscription(
                    id: row[0], device: row[1], name: row[6], updateOn: updateOn,
                    startDate: WallTime(nanosecondsSince1970: row[3]), countedFrom: Self.date(row[7]),
                    renewedDate: Self.date(row[8]), lifetime: row[9], numberOfSteps: row[4],
                    lastDate: WallTime(nanosecondsSince1970: row[5]))
            }
        }
    }

    private static func date(_ nanoseconds: Int64?) -> WallTime? {
        nanoseconds.map { WallTime(nanosecondsSince1970: $0) }
    }

    /// The history's clock, not before the last commit; nil if there is neither a clock nor a commit.
    package func clock() throws(RecordingError) -> HistoryClock.State? {
        try database.read { database in
            let committed = try Int64.fetchOne(database, sql: "SELECT MAX(committed) FROM stream")
            guard let row = try Row.fetchOne(database, sql: "SELECT date, ahead, stood FROM clock") else {
                return Self.date(committed).map { HistoryClock.State(date: $0) }
            }
            let date: Int64 = row[0]
            return HistoryClock.State(
                date: WallTime(nanosecondsSince1970: max(date, committed ?? date)), ahead: row[1], stood: row[2])
        }
    }

    /// The content from which a step-counter continues.
    package func stored() throws(RecordingError) -> StoredHistory {
        StoredHistory(
            positions: try positions(), spans: try spans(), subscriptions: try subscriptions(), clock: try clock())
    }

    // MARK: Counting

    /// Stores all of the commit or, after an error, nothing.
    /// - Parameter now: the history's date.
    package func commit(_ commit: StepCommit, at now: WallTime) throws(RecordingError) {
        let wasBehind = isBehind
        isBehind = true
        devices = try database.write { database in
            var devices = devices
            for (device, steps) in commit.steps where !steps.isEmpty {
                let number = try devices[device] ?? Self.add(device, to: database)
                devices[device] = number
                try Self.add(steps, of: number, to: database)
            }
            for (device, spans) in commit.spans {
                let number = try devices[device] ?? Self.add(device, to: database)
                devices[device] = number
                for span in spans { try Self.store(span, of: number, in: database) }
            }
            for name in commit.abandoned {
                try database.execute(sql: "DELETE FROM stream WHERE name = ?", arguments: [name.description])
            }
            for (name, position) in commit.positions {
                try Self.store(position, of: name, at: now, in: database)
            }
            for subscription in commit.subscriptions.values { try Self.store(subscription, in: database) }
            for id in commit.stopped {
                try database.execute(sql: "DELETE FROM subscription WHERE id = ?", arguments: [id])
            }
            return devices
        }
        isBehind = false
        // Steps that waited may belong to sessions discarded long ago.
        if wasBehind { settledDiscards = 0 }
    }

    private static func add(_ device: String, to database: Database) throws -> Int64 {
        try database.execute(sql: "INSERT INTO device (name) VALUES (?)", arguments: [device])
        return database.lastInsertedRowID
    }

    private static func add(_ steps: [CountedStep], of device: Int64, to database: Database) throws {
        let statement = try database.cachedStatement(
            sql: """
                INSERT INTO step (device, date, steps, expected) VALUES (?, ?, 1, ?)
                ON CONFLICT (device, date) DO UPDATE SET
                    steps = steps + 1, expected = expected + excluded.expected
                """)
        for step in steps {
            try statement.execute(arguments: [
                device, step.date.nanosecondsSince1970, step.expected.flatMap { Int64(exactly: ($0 * 1000).rounded()) },
            ])
        }
    }

    private static func store(_ span: CountedSpan, of device: Int64, in database: Database) throws {
        // A counter that extends a span does not know that its beginning was removed with a discarded session.
        try database.cachedStatement(
            sql: """
                UPDATE span SET "end" = ?1
                WHERE device = ?2 AND number = ?3 AND start > ?4 AND start <= ?1 AND start < "end"
                """
        ).execute(arguments: [
            span.end.nanosecondsSince1970, device, span.number, span.start.nanosecondsSince1970,
        ])
        if database.changesCount > 0 { return }
        try database.cachedStatement(
            sql: "REPLACE INTO span (device, number, start, \"end\", lost, reason) VALUES (?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [
            device, span.number, span.start.nanosecondsSince1970, span.end.nanosecondsSince1970, span.lost,
            span.reason?.rawValue,
        ])
    }

    private static func store(
        _ position: StreamPosition, of name: StreamName, at now: WallTime, in database: Database
    ) throws {
        try database.cachedStatement(
            sql: """
                INSERT INTO stream (name, epoch, next, committed) VALUES (?, ?, ?, ?)
                ON CONFLICT (name) DO UPDATE SET
                    epoch = excluded.epoch, next = excluded.next, committed = excluded.committed
                """
        ).execute(arguments: [name.description, position.epoch, position.next, now.nanosecondsSince1970])
        guard let snapshot = position.snapshot else { return }
        let settings = String(decoding: try WireCoding.encode(snapshot.settings), as: UTF8.self)
        try database.cachedStatement(
            sql: """
                REPLACE INTO detector (stream, epoch, next, state, settings, boutStart, dates)
                VALUES ((SELECT id FROM stream WHERE name = ?), ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            name.description, position.epoch, snapshot.next, Data(snapshot.state), settings,
            snapshot.boutStart?.nanosecondsSince1970,
            String(decoding: try WireCoding.encode(snapshot.dates), as: UTF8.self),
        ])
    }

    private static func store(_ subscription: StepSubscription, in database: Database) throws {
        try database.cachedStatement(
            sql: """
                REPLACE INTO subscription
                    (id, device, name, updateOn, startDate, countedFrom, renewedDate, lifetime, numberOfSteps, lastDate)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            subscription.id, subscription.device, subscription.name, subscription.updateOn,
            subscription.startDate.nanosecondsSince1970, subscription.countedFrom?.nanosecondsSince1970,
            subscription.renewedDate.nanosecondsSince1970, subscription.lifetime, subscription.numberOfSteps,
            subscription.lastDate.nanosecondsSince1970,
        ])
    }

    // MARK: Forgetting

    /// How many steps a transaction removes before the next one begins.
    private static let batchSize = 10_000

    /// Removes old steps, steps of discarded sessions, and devices without a step or a span, and stores the clock.
    /// - Returns: the number of steps removed.
    @discardableResult
    package func remove(_ removal: StepCounting.Removal) throws(RecordingError) -> Int {
        let date = removal.steps.nanosecondsSince1970
        var removed = 0
        var remaining = devices[...]
        while !remaining.isEmpty {
            var gone: [String] = []
            let batch = try database.write { database in
                var batch = 0
                while batch < Self.batchSize, let (name, device) = remaining.popFirst() {
                    batch += try Self.remove(before: date, of: device, from: database)
                    if try Self.removeEmpty(device, from: database) { gone.append(name) }
                }
                return batch
            }
            removed += batch
            for name in gone { devices[name] = nil }
        }
        let clock = removal.clock
        try database.write { database in
            try database.execute(
                sql: "DELETE FROM stream WHERE committed < ?", arguments: [removal.positions.nanosecondsSince1970])
            if clock.ahead == 0 {
                // A trusted clock that went back must not be put ahead again by earlier commits.
                try database.execute(
                    sql: "UPDATE stream SET committed = ?1 WHERE committed > ?1",
                    arguments: [clock.date.nanosecondsSince1970])
            }
            try database.execute(sql: "DELETE FROM clock")
            try database.execute(
                sql: "INSERT INTO clock (date, ahead, stood) VALUES (?, ?, ?)",
                arguments: [clock.date.nanosecondsSince1970, clock.ahead, clock.stood])
        }
        return removed + (try discard(at: clock.date))
    }

    // MARK: Discarding

    /// For this long, in nanoseconds, the steps of a discarded session are removed repeatedly: a publisher may still have its
    /// samples, and a restarted detector counts them again.
    private static let discardTime = Int64(86_400_000_000_000)
    /// How long after the last commit the position of a discarded device's stream is removed, in nanoseconds. Before that, a
    /// publisher may have the samples after the position, and they would be counted twice.
    private static let positionTime = Int64(900_000_000_000)

    /// Removes the steps that devices made during discarded sessions, from start to end on the devices' clocks. That time no
    /// longer counts as counted.
    /// - Returns: the number of steps removed.
    private func discard(at now: WallTime) throws(RecordingError) -> Int {
        let sessions = try discards.lines(after: settledDiscards)
        var removed = 0
        if !sessions.isEmpty {
            let named = Dictionary(devices.keys.map { (PersonalName(of: $0), $0) }) { first, _ in first }
            for session in sessions {
                for device in session.devices.compactMap({ named[$0] }) {
                    removed += try discard(from: session.startDate, to: session.endDate, of: device)
                }
            }
            try removePositions(of: Set(sessions.flatMap(\.devices)), at: now)
            settledDiscards +=
                sessions.prefix { now.nanosecondsSince1970 - $0.date.nanosecondsSince1970 > Self.discardTime }
                .count
        }
        if isLogStale { isLogStale = !(try database.clearLog()) }
        return removed
    }

    private func discard(from start: WallTime, to end: WallTime, of name: String) throws(RecordingError) -> Int {
        guard let device = devices[name] else { return 0 }
        let (removed, isCut, isGone) = try database.write { database in
            let expired = "FROM step WHERE device = ? AND date >= ? AND date <= ?"
            let arguments: StatementArguments = [device, start.nanosecondsSince1970, end.nanosecondsSince1970]
            let steps = try Int.fetchOne(
                database.cachedStatement(sql: "SELECT COALESCE(SUM(steps), 0) \(expired)"), arguments: arguments)
            try database.cachedStatement(sql: "DELETE \(expired)").execute(arguments: arguments)
            let isCut = try Self.cut(from: start, to: end, of: device, in: database)
            return (steps ?? 0, isCut, try Self.removeEmpty(device, from: database))
        }
        if isGone { devices[name] = nil }
        if removed > 0 || isCut || isGone { isLogStale = true }
        return removed
    }

    /// Removes a time from a device's spans. If a span remains on both sides, the later part keeps the number, because a counter
    /// may continue it; the earlier part gets a number below 1, which no counter uses.
    /// - Returns: whether any of the time was in a span.
    private static func cut(
        from start: WallTime, to end: WallTime, of device: Int64, in database: Database
    ) throws -> Bool {
        guard start < end else { return false }
        let rows = try Row.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT number, start, "end", lost, reason FROM span WHERE device = ? AND start < ? AND "end" > ?
                    """), arguments: [device, end.nanosecondsSince1970, start.nanosecondsSince1970])
        for row in rows {
            let span = CountedSpan(row, from: 0)
            try database.cachedStatement(sql: "DELETE FROM span WHERE device = ? AND number = ?")
                .execute(arguments: [device, span.number])
            if span.end > end {
                try store(
                    CountedSpan(number: span.number, start: end, end: span.end), of: device, in: database)
            }
            if span.start < start {
                var earlier = span
                earlier.end = start
                if span.end > end {
                    let first = try Int.fetchOne(
                        database.cachedStatement(sql: "SELECT MIN(number) FROM span WHERE device = ?"),
                        arguments: [device])
                    earlier.number = min(first ?? 1, 1) - 1
                }
                try store(earlier, of: device, in: database)
            }
        }
        return !rows.isEmpty
    }

    /// Removes the positions of the discarded devices' streams that are no longer counted.
    private func removePositions(of devices: Set<PersonalName>, at now: WallTime) throws(RecordingError) {
        let latest = now.nanosecondsSince1970 - Self.positionTime
        let removed = try database.write { database in
            let names = try String.fetchAll(
                database, sql: "SELECT name FROM stream WHERE committed < ?", arguments: [latest])
            let discarded = names.filter { devices.contains(PersonalName(of: String($0.prefix { $0 != "/" }))) }
            for name in discarded {
                try database.execute(sql: "DELETE FROM stream WHERE name = ?", arguments: [name])
            }
            return discarded.count
        }
        if removed > 0 { isLogStale = true }
    }

    private static func remove(before date: Int64, of device: Int64, from database: Database) throws -> Int {
        let expired = "FROM step WHERE device = ? AND date < ?"
        let steps = try Int.fetchOne(
            database.cachedStatement(sql: "SELECT COALESCE(SUM(steps), 0) \(expired)"), arguments: [device, date])
        try database.cachedStatement(sql: "DELETE \(expired)").execute(arguments: [device, date])
        try database.cachedStatement(sql: "DELETE FROM span WHERE device = ? AND \"end\" < ?")
            .execute(arguments: [device, date])
        return steps ?? 0
    }

    /// - Returns: whether the device had neither steps nor spans, and was removed.
    private static func removeEmpty(_ device: Int64, from database: Database) throws -> Bool {
        try database.cachedStatement(
            sql: """
                DELETE FROM device WHERE id = ? AND NOT EXISTS (SELECT 1 FROM step WHERE device = device.id)
                    AND NOT EXISTS (SELECT 1 FROM span WHERE device = device.id)
                """
        ).execute(arguments: [device])
        return database.changesCount > 0
    }
}

extension CountedSpan {
    /// Reads number, start, end, lost and reason.
    /// - Parameter column: the column of the number.
    init(_ row: Row, from column: Int) {
        self.init(
            number: row[column], start: WallTime(nanosecondsSince1970: row[column + 1]),
            end: WallTime(nanosecondsSince1970: row[column + 2]), lost: row[column + 3],
            reason: (row[column + 4] as String?).map { Gap.Reason(rawValue: $0) })
    }
}
