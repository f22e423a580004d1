import MessageBus
import Runtime
package import ServiceKit

extension RunningService {
    /// A relay: to servers of NATS, or from them.
    /// - Throws: `ServiceError` if the data directory is another relay's or can't be read, or for credentials that can't be used.
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
    /// What descriptions name as the endpoint of a socket: if it listens on all addresses, the loopback interface. Whoever hears that
    /// from another machine asks at the address that it comes from.
    fileprivate static func reachable(_ listening: String) -> String {
        guard let endpoint = try? Endpoint(typed: listening), endpoint.transport == .tcp, let port = endpoint.port,
            endpoint.isWildcard
        else { return listening }
        return Endpoint.loopback(port: port).description
    }
}
