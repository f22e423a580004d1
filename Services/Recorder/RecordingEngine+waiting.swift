import ZeroMQ

/// How tasks wait for what the engine knows.
extension RecordingEngine {
    /// What a task waits for.
    struct Wait {
        let deadline: Int64
        let isOver: () -> Bool
        /// Finishing it ends the wait; a cancelled task ends it by itself.
        let continuation: AsyncStream<Void>.Continuation
    }

    /// Returns when something is so, or at a time on `MonotonicClock`. Whatever can make it so calls `resumeWaits`; each tick
    /// does too, so that deadlines are kept.
    func wait(until deadline: Int64 = .max, for isSo: @escaping () -> Bool) async throws {
        if isSo() || MonotonicClock.now >= deadline { return }
        let (over, continuation) = AsyncStream.makeStream(of: Void.self)
        waits.append(Wait(deadline: deadline, isOver: isSo, continuation: continuation))
        for await _ in over {}
        try Task.checkCancellation()
    }

    /// Ends the waits for what is so now.
    func resumeWaits() {
        if waits.isEmpty { return }
        let now = MonotonicClock.now
        let looked = waits
        waits = []
        let remaining = looked.filter { wait in
            guard now >= wait.deadline || wait.isOver() else { return true }
            wait.continuation.finish()
            return false
        }
        waits = remaining + waits
    }
}
