import ArchiverCore
import ServiceKit

/// Effects that take time, in a queue for each task that carries them out.
struct EffectQueues: Sendable {
    typealias Queue = EffectQueue<Deliveries.Effect>

    let disk = Queue()
    let making = Queue()
    let uploads = Queue()
    let logManager = Queue()
    let wakes = Queue()
}
