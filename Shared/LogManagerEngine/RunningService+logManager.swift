import MessageBus
import Runtime
package import ServiceKit

extension RunningService {
    /// Starts a log-manager, whose catalog is open when this returns.
    /// - Throws: `ServiceError` if another log-manager uses the data directory, or the directory can't be read.
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
