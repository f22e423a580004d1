import ServiceLifecycle

/// Detects the beginning of a program's shutdown, whatever its cause. It is the last of the parts, and so the first to be told.
struct ShutdownObserver: Service {
    let hasBegun: @Sendable () -> Void

    func run() async throws {
        try await gracefulShutdown()
        hasBegun()
    }
}
