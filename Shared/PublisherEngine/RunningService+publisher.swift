import MessageBus
import Runtime
package import ServiceKit

extension RunningService {
    /// A sensor publisher. Prints the addresses to which devices can send samples.
    /// - Parameter elapsedClock: a clock that continues while the machine sleeps, in nanoseconds; nil for this machine's.
    /// - Throws: `ServiceError` for a source that cannot be opened or an address that cannot be used to listen.
    package static func sensorPublisher(
        _ settings: PublisherSettings, on host: ServiceHost, elapsedClock: (@Sendable () -> Int64)? = nil
    ) async throws -> RunningService {
        let engine = try await SamplingEngine(
            settings: settings, host: host, elapsedClock: elapsedClock ?? SamplingEngine.elapsedClock)
        if let server = engine.server { StandardStream.output.print(server.greeting) }
        if let datagrams = engine.datagrams { StandardStream.output.print(datagrams.greeting) }
        var running = await RunningService(engine, router: RequestRouter(engine))
        running.parts = { endpoints in
            engine.replayEndpoint = Endpoint.announced(endpoints.reply, as: settings.announcement)
            return [engine]
        }
        return running
    }
}
