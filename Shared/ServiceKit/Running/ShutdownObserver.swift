import ServiceLifecycle

/// Notices that a program begins to stop, for whatever reason. It comes last among the parts and so is told first.
struct ShutdownObserver: Service {
    let hasBegun: @Sendable () -> Void

    func run() async throws {
        try await gracefulShutdown()
        hasBegun()
    }
}
