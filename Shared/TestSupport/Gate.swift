import Synchronization

/// Holds tasks back until it is opened.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [AsyncStream<Void>.Continuation] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Lets all tasks through from now on.
    package func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            return state.waiting
        }
        for continuation in waiting { continuation.finish() }
    }

    /// Waits until the gate is open, or the task is cancelled.
    package func pass() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let isOpen = state.withLock { state in
            state.waiting.append(continuation)
            return state.isOpen
        }
        if isOpen { return }
        for await _ in stream {}
    }
}
