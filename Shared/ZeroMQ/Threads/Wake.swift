import Synchronization

/// Ends the waits of one task, from any thread. A value that is told while no wait is in progress ends the next wait; of
/// several such values, the last one counts.
///
/// The task continues on the thread on which it waited. Other waits in Swift resume through a thread of the global executor,
/// which costs more than the rest of the wait.
package final class Wake<Value: Sendable>: Sendable {
    private enum State {
        case idle
        case told(Value)
        case waiting(CheckedContinuation<Value?, Never>)
        case cancelled
    }

    private let state = Mutex(State.idle)

    package init() {}

    /// Ends the current wait, or else the next one. Does nothing once the waiting task was cancelled.
    package func tell(_ value: Value) {
        let waiting: CheckedContinuation<Value?, Never>? = state.withLock { state in
            switch state {
            case .waiting(let continuation):
                state = .idle
                return continuation
            case .idle, .told: state = .told(value)
            case .cancelled: break
            }
            return nil
        }
        waiting?.resume(returning: value)
    }

    /// Waits for a value.
    /// - Parameter thread: the thread of the actor that waits.
    /// - Returns: the value; nil if the task is cancelled first, and from then on always.
    package func next(on thread: SocketThread) async -> Value? {
        await withTaskExecutorPreference(thread.loop) {
            await withTaskCancellationHandler {
                await withCheckedContinuation { wait($0) }
            } onCancel: {
                cancel()
            }
        }
    }

    private func wait(_ continuation: CheckedContinuation<Value?, Never>) {
        let answer: Value?? = state.withLock { state in
            switch state {
            case .told(let value):
                state = .idle
                return .some(value)
            case .idle:
                state = .waiting(continuation)
                return nil
            case .waiting: preconditionFailure("one task waits at a time")
            case .cancelled: return .some(nil)
            }
        }
        if let answer { continuation.resume(returning: answer) }
    }

    private func cancel() {
        let waiting: CheckedContinuation<Value?, Never>? = state.withLock { state in
            defer { state = .cancelled }
            if case .waiting(let continuation) = state { return continuation }
            return nil
        }
        waiting?.resume(returning: nil)
    }
}
