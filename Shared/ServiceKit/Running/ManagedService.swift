import ServiceLifecycle

/// A part of a program under the rule that the program runs as long as all its parts.
///
/// ServiceLifecycle takes a part that ends before its turn during a shutdown for a failure. A writer that ends because
/// its reader did is none, so a part that has ended asks for the shutdown and waits for its turn.
struct ManagedService: Service {
    let service: any Service
    let hasEnded: @Sendable () -> Void

    func run() async throws {
        try await service.run()
        hasEnded()
        try? await gracefulShutdown()
    }
}
