import Logging
import MessageBus
import Messages
import ZeroMQ

/// Keeps a subscriber connected to all addresses of its endpoints, follows names to new addresses, and reports missing programs
/// to health.
actor Connections {
    /// The interval between checks, in nanoseconds.
    private static let interval: Int64 = 500_000_000
    /// The interval while a name is looked up for the first time.
    private static let firstInterval: Int64 = 10_000_000
    /// How long the short interval applies.
    private static let hurry: Int64 = 2_000_000_000

    private let subscriber: Subscriber
    private let program: Program
    private let thread: SocketThread
    private let health: Health
    private let logger: Logger
    private let names: NameLookup
    private let isNeeded: Bool
    private var plan: ConnectionPlan
    private var presence: Presence
    /// When the answers were given that the plan has taken, by name.
    private var taken: [String: Int64] = [:]
    private let startedAt = MonotonicClock.now

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init(
        of subscriber: Subscriber, to endpoints: [Endpoint], of program: Program, on thread: SocketThread,
        isNeeded: Bool, health: Health, logger: Logger, names: NameLookup
    ) {
        self.subscriber = subscriber
        self.program = program
        self.thread = thread
        self.health = health
        self.logger = logger
        self.names = names
        self.isNeeded = isNeeded
        plan = ConnectionPlan(endpoints.map(\.description))
        presence = Presence(of: program, at: MonotonicClock.now)
    }

    /// Connects to endpoints that need no look-up, and starts looking up the others.
    func begin() async throws {
        for address in plan.routes.flatMap(\.addresses) { try await subscriber.connect(to: address) }
        lookUp()
    }

    /// Follows changes until the task is cancelled.
    func keepUp() async throws {
        while true {
            lookUp()
            await takeAnswers()
            tell()
            let now = MonotonicClock.now
            let isInHurry = taken.count < plan.names.count && now - startedAt < Self.hurry
            try await thread.sleep(until: now + (isInHurry ? Self.firstInterval : Self.interval))
        }
    }

    private func lookUp() {
        for name in plan.takeDue(at: MonotonicClock.now) { names.begin(name) }
    }

    private func takeAnswers() async {
        for name in plan.names {
            guard let answer = names.answer(of: name), answer.time > taken[name] ?? startedAt else { continue }
            taken[name] = answer.time
            let change = plan.take(
                answer.addresses, of: name, connected: subscriber.connectedEndpoints, at: MonotonicClock.now)
            await apply(change, of: name)
        }
    }

    private func apply(_ change: ConnectionPlan.Change, of name: String) async {
        for address in change.connect {
            logger.notice("an address was found", metadata: [LogKey.peer: "\(address)", LogKey.name: "\(name)"])
            do {
                try await subscriber.connect(to: address)
            } catch {
                logger.error(
                    "an address can't be connected to",
                    metadata: [LogKey.peer: "\(address)", LogKey.error: "\(error)"])
            }
        }
        for address in change.disconnect {
            logger.notice("an address has gone", metadata: [LogKey.peer: "\(address)", LogKey.name: "\(name)"])
            // Fails only if the address is not connected.
            try? await subscriber.disconnect(from: address)
        }
    }

    private func tell() {
        let now = MonotonicClock.now
        let changes = presence.note(
            plan.addresses, connected: subscriber.connectedEndpoints, at: now, date: .now)
        for change in changes {
            switch change {
            case .arrived(let address):
                logger.notice("\(program) is there", metadata: [LogKey.peer: "\(address)"])
            case .left(let address):
                logger.log(
                    level: isNeeded ? .warning : .info, "\(program) is away", metadata: [LogKey.peer: "\(address)"])
            }
        }
        guard isNeeded else { return }
        for route in plan.routes {
            let key = "\(program) \(route.endpoint)"
            if let complaint = presence.complaint(about: route, at: now) {
                health.report(.degraded, complaint, for: key)
            } else {
                health.clear(key)
            }
        }
        let counts = presence.counts
        health.measure(.peerAddresses, counts.known + plan.leftOut.count)
        health.measure(.connectedPeerAddresses, counts.connected)
    }
}
