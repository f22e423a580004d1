import RecorderCore
import ServiceKit

/// Effects that take time, in a queue for each task that carries them out.
struct EffectQueues: Sendable {
    typealias Queue = EffectQueue<Recordings.Effect>

    let log = Queue()
    let files = Queue()
    let syncs = Queue()
    let documents = Queue()
    let publishers = Queue()
    let events = Queue()
    let subscriptions = Queue()
    // Of these, what was asked for last is enough.
    let logManager = Queue(keepingNewest: true)
    let wakes = Queue(keepingNewest: true)
}
