import Synchronization

/// Ends the waits of one task on a `SocketThread`, from any thread. If no wait is in progress, the next one ends at once.
package final class Interruption: Sendable {
    private struct State {
        var isRaised = false
        var wake: Wake<Bool>?
    }

    private let state = Mutex(State())

    package init() {}

    package func raise() {
        state.withLock { state in
            if state.wake == nil { state.isRaised = true }
            state.wake?.tell(false)
        }
    }

    /// Registers the wait that `raise()` ends, and ends it at once if `raise()` was called before; nil when the wait is over.
    func end(_ wake: Wake<Bool>?) {
        state.withLock { state in
            state.wake = wake
            guard let wake, state.isRaised else { return }
            state.isRaised = false
            wake.tell(false)
        }
    }
}
