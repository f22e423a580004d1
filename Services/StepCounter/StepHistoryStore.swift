import Files
import Messages
import Recording
import SystemPackage
import ZeroMQ

/// Writes the history on a thread that may wait for the disk, while counting goes on.
actor StepHistoryStore {
    private let history: StepHistory
    private let thread: SocketThread

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Opens the history of a data directory, whose lock the caller has.
    init(in data: FilePath) throws {
        thread = try SocketThread(name: "history")
        history = try StepHistory(in: data)
    }

    /// What goes on after a restart.
    func stored() throws -> (positions: [StreamName: StreamPosition], subscriptions: [StepSubscription]) {
        (try history.positions(), try history.subscriptions())
    }

    /// Makes it durable, all of it or nothing.
    func commit(_ commit: StepCommit) throws(RecordingError) { try history.commit(commit) }

    /// Removes steps made before a date.
    func remove(before date: WallTime) throws(RecordingError) { try history.remove(before: date) }
}
