import Dispatch
import Files
import Recording
import Synchronization

/// Syncs several files at the same time, without blocking the calling thread.
///
/// Uses a few serial queues, each with its own thread while it has work: a concurrent queue would have no more threads than the
/// machine has processors, and those would wait.
struct SyncQueues: Sendable {
    private let queues = (0..<4).map { DispatchQueue(label: "sync-\($0)") }

    func begin(_ files: [OpenFile]) -> Round {
        let round = Round(count: files.count)
        for (index, file) in files.enumerated() {
            queues[index % queues.count].async(group: round.group) {
                let error = RecordingError.thrown { () throws(RecordingError) in try file.sync() }
                if let error { round.errors.withLock { $0[index] = error } }
            }
        }
        return round
    }

    final class Round: Sendable {
        fileprivate let group = DispatchGroup()
        fileprivate let errors: Mutex<[RecordingError?]>

        fileprivate init(count: Int) { errors = Mutex(Array(repeating: nil, count: count)) }

        /// Blocks this thread until the last file is synced.
        /// - Returns: why the file at an index is not durable; nil if it is.
        func error(of index: Int) -> RecordingError? {
            group.wait()
            return errors.withLock { $0[index] }
        }

        /// Returns when the last file is synced.
        func finish() async {
            await withCheckedContinuation { continuation in
                group.notify(queue: .global()) { continuation.resume() }
            }
        }
    }
}
