import MessageBus
import Runtime
package import ServiceKit

extension RunningService {
    /// A recorder that has resumed interrupted sessions.
    /// - Throws: `ServiceError` if another recorder uses the data directory, or if it can't be read.
    package static func recorder(_ settings: RecorderSettings, on host: ServiceHost) async throws -> RunningService {
        let engine = try await opening { try await RecordingEngine(settings: settings, host: host) }
        return await RunningService(engine, router: RequestRouter(engine), listener: engine.listener)
    }
}
