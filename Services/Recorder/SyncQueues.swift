import Dispatch
import Recording
import Synchronization

/// Waits for the disk at several places at the same time.
///
/// A few serial queues, each with a thread of its own while it has something to do: a concurrent queue would have no
/// more threads than the machine has processors, and those would wait.
struct SyncQueues: Sendable {
    /// Something that waits for the disk.
    struct Job: Sendable {
        /// Whose it is.
        let owner: Int
        let body: @Sendable () throws(RecordingError) -> Void
    }

    private let queues = (0..<8).map { DispatchQueue(label: "sync-\($0)") }

    /// Does all of it, and returns when the last is done.
    /// - Parameter failures: the first failure of each owner so far.
    /// - Returns: those, with the ones that were added.
    func run(_ jobs: [Job], failures: [RecordingError?]) -> [RecordingError?] {
        let found = FirstFailures(failures)
        if jobs.count == 1 {
            found.perform(jobs[0])
            return found.all
        }
        let group = DispatchGroup()
        for (index, job) in jobs.enumerated() {
            queues[index % queues.count].async(group: group) { found.perform(job) }
        }
        group.wait()
        return found.all
    }

    /// The first failure of each owner.
    private final class FirstFailures: Sendable {
        private let failures: Mutex<[RecordingError?]>

        init(_ failures: [RecordingError?]) {
            self.failures = Mutex(failures)
        }

        func perform(_ job: Job) {
            do throws(RecordingError) {
                try job.body()
            } catch {
                failures.withLock { $0[job.owner] = $0[job.owner] ?? error }
            }
        }

        var all: [RecordingError?] { failures.withLock { $0 } }
    }
}
