import MessageBus
import Runtime
package import ServiceKit

extension RunningService {
    /// A log-manager, which has read its catalog.
    /// - Throws: `ServiceError` if the data directory is another log-manager's or can't be read.
    package static func logManager(_ settings: LogManagerSettings, on host: ServiceHost) async throws -> RunningService
    {
        let engine = try await opening {
            let engine = try await LogEngine(settings: settings, host: host)
            try await engine.begin()
            return engine
        }
        return await RunningService(engine, router: RequestRouter(engine), listener: engine.listener)
    }
}
