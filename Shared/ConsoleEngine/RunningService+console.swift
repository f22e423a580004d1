import MessageBus
import Runtime
package import ServiceKit

extension RunningService {
    /// A console. Prints the address of its page and the links that let people in.
    /// - Throws: `ServiceError` if the address can't be listened on, or the page's files can't be read.
    package static func console(_ settings: ConsoleSettings, on host: ServiceHost) async throws -> RunningService {
        let engine = try await ConsoleEngine(settings: settings, host: host)
        StandardStream.output.print(engine.access.greeting)
        return await RunningService(engine, router: RequestRouter())
    }
}
