import MessageBus
import Messages
import Testing

@testable import ServiceKit

@Suite(.timeLimit(.minutes(1)))
struct PresenceTests {
    @Test func addressesBeyondTheLimitOfANameAreReported() {
        var plan = ConnectionPlan(["tcp://sensors:5550"])
        let hosts = (0..<300).map { "10.1.\($0 / 250).\($0 % 250)" }
        _ = plan.take(.found(hosts), of: "sensors", connected: [], at: 0)
        var presence = Presence(of: .sensorPublisher, at: 0)
        _ = presence.note(plan.addresses, connected: plan.addresses, at: 0, date: WallTime(seconds: 0))
        let complaint = presence.complaint(about: plan.routes[0], at: 0)
        #expect(
            complaint == """
                sensor-publisher at 44 more addresses (sensors) is not connected, because a name may have at most \
                256: divide them among several names, and give each with --subscribe
                """)
    }
}
