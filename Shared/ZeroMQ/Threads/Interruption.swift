import Synchronization

/// Ends the waits of one task on a `SocketThread`, from any thread. One that is raised while nobody waits ends the next wait.
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

    /// Ends a wait by `raise()`, at once where that was called before; nil when the wait is over.
    func end(_ wake: Wake<Bool>?) {
        state.withLock { state in
            state.wake = wake
            guard let wake, state.isRaised else { return }
            state.isRaised = false
            wake.tell(false)
        }
    }
}
