import MessageBus
import Runtime
package import ServiceKit

extension RunningService {
    /// Starts a console. Prints the address of its page and the links that grant access.
    /// - Throws: `ServiceError` if the console can't listen on the address, or can't read the page's files.
    package static func console(_ settings: ConsoleSettings, on host: ServiceHost) async throws -> RunningService {
        let engine = try await ConsoleEngine(settings: settings, host: host)
        StandardStream.output.print(engine.access.greeting)
        return await RunningService(engine, router: RequestRouter())
    }
}
