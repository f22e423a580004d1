import MessageBus
import Runtime
package import ServiceKit

extension RunningService {
    /// A step counter, which has opened its history.
    /// - Throws: `ServiceError` if the data directory is another step counter's or can't be read.
    package static func stepCounter(_ settings: StepCounterSettings, on host: ServiceHost) async throws
        -> RunningService
    {
        let engine = try await opening { try await StepEngine(settings: settings, host: host) }
        return await RunningService(engine, router: RequestRouter(engine), listener: engine.listener)
    }
}
