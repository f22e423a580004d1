import MessageBus
import Runtime
package import ServiceKit

extension RunningService {
    /// A relay that sends to NATS servers or serves from them.
    /// - Throws: `ServiceError` if another relay uses the data directory, the directory cannot be read, or the credentials are
    ///   unusable.
    package static func relay(_ settings: RelaySettings, on host: ServiceHost) async throws -> RunningService {
        if settings.to.isEmpty {
            let engine = try await ServingEngine(settings: settings, host: host)
            var running = await RunningService(engine, router: RequestRouter(engine))
            running.parts = { endpoints in
                engine.replayEndpoint = Endpoint.reachable(endpoints.reply)
                return [engine]
            }
            return running
        }
        let engine = try await opening { try await SendingEngine(settings: settings, host: host) }
        return await RunningService(engine, router: RequestRouter(), listener: engine.listener)
    }
}

extension Endpoint {
    /// The endpoint that descriptions name for a socket: if it listens on all addresses, the loopback interface. Receivers on
    /// another machine replace it with the address from which the description comes.
    fileprivate static func reachable(_ listening: String) -> String {
        guard let endpoint = try? Endpoint(typed: listening), endpoint.transport == .tcp, let port = endpoint.port,
            endpoint.isWildcard
        else { return listening }
        return Endpoint.loopback(port: port).description
    }
}
