import Synchronization

/// Blocks its callers until it is opened, or until enough have arrived.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func pass(openingAt count: Int = .max) async {
        await withCheckedContinuation { continuation in
            let isFull = state.withLock { state in
                state.waiting.append(continuation)
                return state.isOpen || state.waiting.count >= count
            }
            if isFull { open() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
