import MessageBus
import Runtime
package import ServiceKit

extension RunningService {
    /// A recorder, which has continued the sessions that were interrupted.
    /// - Throws: `ServiceError` if the data directory is another recorder's or can't be read.
    package static func recorder(_ settings: RecorderSettings, on host: ServiceHost) async throws -> RunningService {
        let engine = try await opening { try await RecordingEngine(settings: settings, host: host) }
        return await RunningService(engine, router: RequestRouter(engine), listener: engine.listener)
    }
}
