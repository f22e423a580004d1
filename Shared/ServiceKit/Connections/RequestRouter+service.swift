package import MessageBus
import Messages

extension RequestRouter {
    /// Sets the handlers of every program's methods: `service.health`, `service.describe` and `service.clock`. Call it last,
    /// when all other methods exist and can be described.
    /// - Parameter endpoints: evaluated for each description, since actual ports are known only after binding.
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
