import MessageBus
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ConnectionPlanTests {
    /// A plan as a class, because expectations cannot mutate a struct.
    private final class Planned {
        private var plan: ConnectionPlan

        init(_ endpoints: [String]) { plan = ConnectionPlan(endpoints) }

        var addresses: Set<String> { plan.addresses }
        var leftOut: Set<String> { plan.leftOut }
        var failure: String? { plan.routes[0].failure }

        func takeDue(at now: Int64) -> [String] { plan.takeDue(at: now) }

        func take(
            _ found: HostAddresses, of name: String, connected: Set<String>, at now: Int64
        ) -> ConnectionPlan.Change {
            plan.take(found, of: name, connected: connected, at: now)
        }
    }

    private static let second: Int64 = 1_000_000_000
    private let sensors = "tcp://sensors:5550"

    private func endpoints(_ hosts: ClosedRange<Int>, port: Int = 5550) -> [String] {
        hosts.map { "tcp://10.0.0.\($0):\(port)" }
    }

    private func found(_ hosts: ClosedRange<Int>) -> HostAddresses { .found(hosts.map { "10.0.0.\($0)" }) }

    @Test func whatHasNoNameIsConnectedAtOnceAndForEver() {
        let places = ["tcp://127.0.0.1:5550", "ipc:///run/s", "inproc://s", "tcp://[fd00::1]:5550"]
        let plan = Planned(places)
        #expect(plan.addresses == Set(places))
        #expect(plan.takeDue(at: .max / 2).isEmpty)
        #expect(plan.take(.notFound("gone"), of: "sensors", connected: [], at: 0) == ConnectionPlan.Change())
    }

    @Test func aNameIsConnectedToEachOfItsAddresses() {
        let plan = Planned([sensors])
        #expect(plan.addresses.isEmpty)
        #expect(plan.takeDue(at: 0) == ["sensors"])
        let change = plan.take(found(1...3), of: "sensors", connected: [], at: 0)
        #expect(change == ConnectionPlan.Change(connect: endpoints(1...3)))
        // The same addresses in another order: nothing to do.
        #expect(
            plan.take(.found(["10.0.0.3", "10.0.0.1", "10.0.0.2"]), of: "sensors", connected: [], at: 1)
                == ConnectionPlan.Change())
    }

    @Test func namesAreLookedUpAgainEveryFewSeconds() {
        let plan = Planned([sensors, "tcp://sensors:5560", "tcp://others:5550"])
        #expect(plan.takeDue(at: 0) == ["others", "sensors"])
        #expect(plan.takeDue(at: Self.second).isEmpty)
        #expect(plan.takeDue(at: ConnectionPlan.lookupInterval) == ["others", "sensors"])
    }

    @Test func aFailedLookUpChangesNothing() {
        let plan = Planned([sensors])
        _ = plan.take(found(1...2), of: "sensors", connected: [], at: 0)
        for seconds in stride(from: 5, through: 600, by: 5) {
            let change = plan.take(
                .notFound("no such name"), of: "sensors", connected: [], at: Int64(seconds) * Self.second)
            #expect(change == ConnectionPlan.Change())
        }
        #expect(plan.failure == "no such name")
        #expect(plan.addresses == Set(endpoints(1...2)))
        _ = plan.take(found(1...2), of: "sensors", connected: [], at: 700 * Self.second)
        #expect(plan.failure == nil)
    }

    @Test func newAddressesAreConnectedAndThoseThatHaveGoneAreLeftAfterAWhile() {
        let plan = Planned([sensors])
        _ = plan.take(found(1...2), of: "sensors", connected: [], at: 0)
        #expect(
            plan.take(found(2...3), of: "sensors", connected: [], at: 5 * Self.second)
                == ConnectionPlan.Change(connect: endpoints(3...3)))
        #expect(plan.take(found(2...3), of: "sensors", connected: [], at: 34 * Self.second) == ConnectionPlan.Change())
        #expect(
            plan.take(found(2...3), of: "sensors", connected: [], at: 35 * Self.second)
                == ConnectionPlan.Change(disconnect: endpoints(1...1)))
    }

    @Test func anAddressThatComesBackIsKept() {
        let plan = Planned([sensors])
        _ = plan.take(found(1...2), of: "sensors", connected: [], at: 0)
        _ = plan.take(found(2...2), of: "sensors", connected: [], at: 5 * Self.second)
        _ = plan.take(found(1...2), of: "sensors", connected: [], at: 20 * Self.second)
        _ = plan.take(found(2...2), of: "sensors", connected: [], at: 25 * Self.second)
        #expect(plan.take(found(2...2), of: "sensors", connected: [], at: 54 * Self.second) == ConnectionPlan.Change())
        #expect(
            plan.take(found(2...2), of: "sensors", connected: [], at: 55 * Self.second).disconnect == endpoints(1...1))
    }

    /// A publisher that a name no longer includes may still have samples: no working connection is closed.
    @Test func aConnectionThatIsAliveIsKeptUntilItEnds() {
        let plan = Planned([sensors])
        let all = Set(endpoints(1...2))
        _ = plan.take(found(1...2), of: "sensors", connected: all, at: 0)
        for seconds in stride(from: 5, through: 600, by: 5) {
            let change = plan.take(found(2...2), of: "sensors", connected: all, at: Int64(seconds) * Self.second)
            #expect(change == ConnectionPlan.Change())
        }
        let left = Set(endpoints(2...2))
        #expect(
            plan.take(found(2...2), of: "sensors", connected: left, at: 629 * Self.second) == ConnectionPlan.Change())
        #expect(
            plan.take(found(2...2), of: "sensors", connected: left, at: 630 * Self.second).disconnect
                == endpoints(1...1))
    }

    @Test func twoNamesOfOneAddressAreOneConnection() {
        let plan = Planned([sensors, "tcp://others:5550", "tcp://10.0.0.9:5550", "tcp://10.0.0.9:5550"])
        #expect(plan.addresses == Set(endpoints(9...9)))
        _ = plan.take(found(1...2), of: "sensors", connected: [], at: 0)
        #expect(
            plan.take(found(2...3), of: "others", connected: [], at: 0)
                == ConnectionPlan.Change(connect: endpoints(3...3)))
        #expect(
            plan.take(.found(["10.0.0.1", "10.0.0.9"]), of: "sensors", connected: [], at: 0) == ConnectionPlan.Change())
        // An address that one name no longer includes stays as long as the other has it.
        let later = 100 * Self.second
        #expect(
            plan.take(.found(["10.0.0.1", "10.0.0.9"]), of: "sensors", connected: [], at: later)
                == ConnectionPlan.Change())
        // An endpoint given by its address always stays.
        _ = plan.take(found(1...1), of: "sensors", connected: [], at: later)
        #expect(
            plan.take(found(1...1), of: "sensors", connected: [], at: 2 * later) == ConnectionPlan.Change())
        #expect(plan.addresses == Set(endpoints(1...3) + endpoints(9...9)))
    }

    @Test func oneNameWithTwoPortsIsTwoConnections() {
        let plan = Planned([sensors, "tcp://sensors:6550"])
        let change = plan.take(found(1...1), of: "sensors", connected: [], at: 0)
        #expect(Set(change.connect) == Set(endpoints(1...1) + endpoints(1...1, port: 6550)))
    }

    @Test func aNameHasABoundedNumberOfAddressesAndTheOthersAreCounted() {
        let hosts = (0..<1_000).map { "10.1.\($0 / 250).\($0 % 250)" }
        // The last address is an endpoint too.
        let plan = Planned([sensors, "tcp://10.1.3.249:5550"])
        _ = plan.take(.found(hosts), of: "sensors", connected: [], at: 0)
        #expect(plan.addresses.count == ConnectionPlan.maximumAddresses + 1)
        #expect(plan.leftOut.count == 1_000 - ConnectionPlan.maximumAddresses - 1)
        #expect(plan.leftOut.isDisjoint(with: plan.addresses))
        // A failed look-up changes nothing, and an answer without them does.
        _ = plan.take(.notFound("no such name"), of: "sensors", connected: [], at: 1)
        #expect(!plan.leftOut.isEmpty)
        _ = plan.take(.found(Array(hosts.prefix(200))), of: "sensors", connected: [], at: 2)
        #expect(plan.leftOut.isEmpty)
    }

    @Test(arguments: [
        ("tcp://sensors:5550", EndpointTarget.host(name: "sensors", port: "5550")),
        ("tcp://localhost:5550", .host(name: "localhost", port: "5550")),
        ("tcp://10.0.0.1:5550", .place("tcp://10.0.0.1:5550")),
        ("tcp://[fd00:0:0::1]:5550", .place("tcp://[fd00::1]:5550")),
        ("tcp://[fe80::1%eth0]:5550", .place("tcp://[fe80::1%eth0]:5550")),
        ("ipc:///run/s", .place("ipc:///run/s")), ("inproc://s", .place("inproc://s")),
    ])
    func anEndpointIsANameOrAPlace(endpoint: String, target: EndpointTarget) {
        #expect(EndpointTarget(endpoint) == target)
    }
}
