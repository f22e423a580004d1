import FoundationEssentials
import GRDB
import Messages
import Recording
import ServiceKit
import Storage
import StepCounterCore
import StepStorage
import SystemPackage
import TestSupport

/// A history in its own directory, and queries of it.
struct HistoryFixture {
    let data: FilePath
    let history: StepHistory
    let reader: StepHistoryReader
    /// The time of all queries, long after the history's beginning.
    let now: WallTime

    static func run(keep: TimeSpan = .seconds(7 * 86_400), _ body: (HistoryFixture) throws -> Void) throws {
        try withTemporaryDirectory { data in
            let history = try StepHistory(in: data, at: .now)
            try body(
                HistoryFixture(
                    data: data, history: history, reader: StepHistoryReader(in: data, keep: keep.nanoseconds),
                    now: WallTime(seconds: (WallTime.now.seconds + 30 * 86_400).rounded())))
        }
    }

    /// The date this many seconds before `now`.
    func ago(_ seconds: Double) -> WallTime { WallTime(seconds: now.seconds - seconds) }

    /// Stores steps that were made this many seconds ago.
    func store(_ device: String = "phone", ago seconds: [Double]) throws {
        try history.commit(StepCommit(steps: [device: seconds.map { ago($0) }]), at: now)
    }

    /// Removes everything older than this many seconds.
    func remove(before seconds: Double) throws -> Int {
        try history.remove(
            StepCounting.Removal(
                steps: ago(seconds), positions: ago(seconds), clock: HistoryClock.State(date: now)))
    }

    /// Queries the steps between two times in seconds before `now`.
    func ask(
        _ device: String = "phone", from: Double, to: Double, interval: Double? = nil
    ) throws -> StepsQuery.Reply {
        try ask(StepsQuery(device: device, from: ago(from), to: ago(to), interval: interval))
    }

    func ask(_ query: StepsQuery) throws -> StepsQuery.Reply {
        try reader.answer(query, at: now)
    }
}

extension StepHistory {
    /// The dates of a device's steps, in order; two steps of the same date are listed twice.
    func dates(of device: String) throws -> [WallTime] {
        try database.read { database in
            try Row.fetchAll(
                database,
                sql: "SELECT date, steps FROM step JOIN device ON device.id = step.device WHERE name = ? ORDER BY date",
                arguments: [device]
            ).flatMap { Array(repeating: WallTime(nanosecondsSince1970: $0[0]), count: $0[1]) }
        }
    }
}
