import MessageBus
import Runtime
package import ServiceKit

extension RunningService {
    /// An archiver, which looks for finished sessions while it runs.
    /// - Throws: `ServiceError` if the receiver is unusable.
    package static func archiver(_ settings: ArchiverSettings, on host: ServiceHost) async throws -> RunningService {
        let engine = try await ArchiveEngine(settings: settings, on: host)
        await engine.begin()
        return await RunningService(engine, router: RequestRouter(engine), listener: engine.listener)
    }
}
