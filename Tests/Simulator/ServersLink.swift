import RelayCore

/// A relay's connection to the servers: to one at a time, until the connection ends or is silent too long.
final class ServersLink {
    /// Nanoseconds until a silent connection is closed: the library sends a ping each second.
    private static let silence: ClosedRange<Int64> = 2_000_000_000...3_000_000_000
    private static let pause: ClosedRange<Int64> = 250_000_000...500_000_000
    /// Nanoseconds until an unanswered request fails.
    static let requestLimit: Int64 = 5_000_000_000

    private let simulation: Simulation
    private let servers: SimulatedServers
    /// Whether the path between the relay's machine and the servers is cut.
    private(set) var isCut = false
    /// The connected server.
    private(set) var server: Int?
    /// Called when the connection opens or closes; nil while no program runs.
    private var noteConnected: ((Bool) throws -> Void)?
    /// The connection's number: messages over an earlier connection are lost.
    private var number = 0
    private var lastArrival: Int64 = 0
    /// Messages sent over a cut path that the operating system still holds.
    private var held: [() throws -> Void] = []

    init(_ servers: SimulatedServers, of simulation: Simulation) {
        self.servers = servers
        self.simulation = simulation
    }

    var isConnected: Bool { server != nil }

    /// Whether requests over the connection are answered.
    var isServed: Bool { !isCut && servers.isServing && server.map { !servers.replicas[$0].isApart } ?? false }

    // MARK: Connecting

    /// Begins connecting for a program that starts.
    func begin(_ noteConnected: @escaping (Bool) throws -> Void) {
        self.noteConnected = noteConnected
        connect(1_000_000...50_000_000)
    }

    /// Closes the connection with its program. Messages already sent still arrive.
    func end() {
        noteConnected = nil
        server = nil
        number += 1
    }

    private func connect(_ delay: ClosedRange<Int64>) {
        number += 1
        simulation.later(delay) { [self, number] in
            guard self.number == number, noteConnected != nil, server == nil else { return }
            let up = servers.replicas.indices.filter { servers.replicas[$0].isUp }
            guard !isCut, !up.isEmpty else { return connect(Self.pause) }
            server = up[simulation.number(0...(up.count - 1))]
            try noteConnected?(true)
        }
    }

    /// Ends the connection if it is to this server.
    func lose(_ ended: Int) {
        guard server == ended else { return }
        disconnect(after: 1_000_000...20_000_000)
    }

    private func disconnect(after delay: ClosedRange<Int64>) {
        simulation.later(delay) { [self, number] in
            guard self.number == number, let server, isCut || !servers.replicas[server].isUp else { return }
            self.server = nil
            try noteConnected?(false)
            if noteConnected != nil { connect(Self.pause) }
        }
    }

    // MARK: The path

    func cut() {
        isCut = true
        disconnect(after: Self.silence)
    }

    func restore() {
        isCut = false
        let late = held
        held = []
        simulation.later(1_000_000...1_000_000_000) { for body in late { try body() } }
    }

    // MARK: Sending

    /// Sends a message that reaches the server sooner, later or never, even if its program has ended by then.
    private func send(_ body: @escaping (Int) throws -> Void) {
        guard let server else { return }
        let deliver = { [self] in if servers.replicas[server].isUp { try body(server) } }
        if isCut {
            if simulation.happens(0.5) { held.append(deliver) }
            return
        }
        let isSlow = simulation.relays?.faults.slowPaths == true && simulation.happens(0.003)
        let delay = Int64(simulation.number(isSlow ? 100_000_000...4_000_000_000 : 100_000...8_000_000))
        lastArrival = max(lastArrival, simulation.now + delay)
        simulation.at(lastArrival) { [self] in
            if isCut { held.append(deliver) } else { try deliver() }
        }
    }

    /// Answers over the connection of the request, if that still exists.
    private func answer(to number: Int, _ body: @escaping () throws -> Void) {
        simulation.later(100_000...8_000_000) { [self] in
            if self.number == number, !isCut, simulation.relays?.losesAnswer() != true { try body() }
        }
    }

    /// Sends a request, and takes whichever comes first: the answer or the timeout.
    func ask<Content>(
        within limit: Int64, _ question: @escaping (Int) -> SimulatedServers.Answer<Content>,
        _ done: @escaping (SimulatedServers.Answer<Content>) throws -> Void
    ) {
        let take = first(within: limit, or: .silence, done)
        send { [self, number] server in
            let found = question(server)
            if case .silence = found { return }
            answer(to: number) { try take(found) }
        }
    }

    /// Publishes a message. If its acknowledgement does not arrive in time, the outcome is unknown.
    func publish(
        within limit: Int64, _ send: @escaping (Int, @escaping (Sending.Outcome) -> Void) -> Void,
        _ done: @escaping (Sending.Outcome) throws -> Void
    ) {
        let take = first(within: limit, or: .unknown("Timeout"), done)
        self.send { [self, number] server in
            send(server) { [self] outcome in answer(to: number) { try take(outcome) } }
        }
    }

    /// Wraps a completion handler so that it takes only the first answer, and none after the timeout.
    private func first<Answer>(
        within limit: Int64, or late: Answer, _ done: @escaping (Answer) throws -> Void
    ) -> (Answer) throws -> Void {
        var isDone = false
        let take = { (answer: Answer) in
            if isDone { return }
            isDone = true
            try done(answer)
        }
        simulation.later(limit...limit) { try take(late) }
        return take
    }

    /// Sends a message that is not answered.
    func tell(_ body: @escaping (Int) -> Void) { send { body($0) } }
}
