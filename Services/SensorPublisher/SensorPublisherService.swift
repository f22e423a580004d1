import ServiceKit
import ServiceLifecycle

/// Runs a sensor publisher: samples its streams and reads standard input.
struct SensorPublisherService: Service {
    let engine: SamplingEngine

    func run() async throws {
        await engine.begin()
        try await runTogether({ try await engine.run() }, finish: { await engine.finish() })
    }
}
