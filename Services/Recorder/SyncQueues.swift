import Dispatch
import Recording
import Synchronization

/// Syncs several files at the same time.
///
/// A few serial queues, each with a thread of its own while it has something to do: a concurrent queue would have no
/// more threads than the machine has processors, and those would wait.
struct SyncQueues: Sendable {
    private let queues = (0..<4).map { DispatchQueue(label: "sync-\($0)") }

    /// Syncs all of the files, and returns when the last is done.
    /// - Returns: for each file why it is not durable; nil where it is.
    func run(_ files: [OpenFile]) -> [RecordingError?] {
        let errors = Errors(count: files.count)
        let group = DispatchGroup()
        for (index, file) in files.enumerated() {
            queues[index % queues.count].async(group: group) {
                do throws(RecordingError) { try file.sync() } catch { errors.all.withLock { $0[index] = error } }
            }
        }
        group.wait()
        return errors.all.withLock { $0 }
    }

    private final class Errors: Sendable {
        let all: Mutex<[RecordingError?]>

        init(count: Int) { all = Mutex(Array(repeating: nil, count: count)) }
    }
}
