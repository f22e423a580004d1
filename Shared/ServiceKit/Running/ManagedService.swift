import ServiceLifecycle

/// A part of a program that shuts the program down when it ends.
///
/// ServiceLifecycle treats a part that ends before its turn during a shutdown as a failure. But a writer that ends because its
/// reader did has not failed, so a part that has ended requests the shutdown and waits for its turn.
struct ManagedService: Service {
    let service: any Service
    let hasEnded: @Sendable () -> Void

    func run() async throws {
        try await service.run()
        hasEnded()
        try? await gracefulShutdown()
    }
}
