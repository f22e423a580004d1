import MessageBus
import Runtime
package import ServiceKit

extension RunningService {
    /// An archiver, which looks for finished sessions once it runs.
    /// - Throws: `ServiceError` for a receiver that can't be used.
    package static func archiver(_ settings: ArchiverSettings, on host: ServiceHost) async throws -> RunningService {
        let engine = try await ArchiveEngine(settings: settings, on: host)
        await engine.begin()
        return await RunningService(engine, router: RequestRouter(engine), listener: engine.listener)
    }
}
