import MessageBus
import Runtime
package import ServiceKit

extension RunningService {
    /// An archiver, which knows what there is to do.
    /// - Throws: `ServiceError` for a certificate or a receiver that can't be used.
    package static func archiver(_ settings: ArchiverSettings, on host: ServiceHost) async throws -> RunningService {
        let engine = try await ArchiveEngine(settings: settings, on: host)
        await engine.begin()
        return await RunningService(engine, router: RequestRouter(engine), listener: engine.listener)
    }
}
