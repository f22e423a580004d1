import MessageBus
import Messages

extension RequestRouter {
    init(_ engine: StepEngine) {
        self.init()
        on(StepsIsAvailable.self) { await engine.isAvailable($0) }
        on(StepsStartUpdates.self) { try await engine.startUpdates($0) }
        on(StepsSubscriptions.self) { await engine.subscriptions($0) }
        on(StepsStopUpdates.self) { try await engine.stopUpdates($0) }
        on(StepsQuery.self) { try await engine.query($0) }
    }
}
