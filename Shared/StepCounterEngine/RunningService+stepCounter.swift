import MessageBus
import Runtime
package import ServiceKit

extension RunningService {
    /// A step-counter with an open history.
    /// - Throws: `ServiceError` if the data directory belongs to another step-counter or cannot be read.
    package static func stepCounter(_ settings: StepCounterSettings, on host: ServiceHost) async throws
        -> RunningService
    {
        let engine = try await opening { try await StepEngine(settings: settings, host: host) }
        return await RunningService(engine, router: RequestRouter(engine), listener: engine.listener)
    }
}
