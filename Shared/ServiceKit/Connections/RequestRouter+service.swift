package import MessageBus
import Messages

extension RequestRouter {
    /// Answers what every program answers: `service.health`, `service.describe` and `service.clock`. Call it last, when
    /// all other methods are there to be described.
    /// - Parameter endpoints: asked at each description, since real ports are known only after listening.
    package mutating func onServiceRequests(
        of program: Program, health: Health, endpoints: @escaping @Sendable () -> ServiceEndpoints
    ) {
        let methods = (self.methods + [ServiceHealth.method, ServiceDescribe.method, ServiceClock.method]).sorted()
        on(ServiceHealth.self) { _ in health.reply }
        on(ServiceClock.self) { _ in ServiceClock.Reply(clock: .now) }
        on(ServiceDescribe.self) { _ in
            let endpoints = endpoints()
            var places = ["publish": endpoints.publish, "reply": endpoints.reply]
            places["metrics"] = endpoints.metrics
            return ServiceDescribe.Reply(
                name: program.rawValue, version: Version.current, endpoints: places, methods: methods)
        }
    }
}
