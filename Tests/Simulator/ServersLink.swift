import RelayCore

/// A relay's connection to the servers: to one of them at a time, until that ends or nothing comes any more.
final class ServersLink {
    /// Nanoseconds until a connection over which nothing comes is given up: the library sends a ping each second.
    private static let silence: ClosedRange<Int64> = 2_000_000_000...3_000_000_000
    private static let pause: ClosedRange<Int64> = 250_000_000...500_000_000
    /// Nanoseconds until a question without an answer has failed.
    static let requestLimit: Int64 = 5_000_000_000

    private let simulation: Simulation
    private let servers: SimulatedServers
    /// Whether nothing passes between the relay's machine and the servers.
    private(set) var isCut = false
    /// The server that it is connected to.
    private(set) var server: Int?
    /// Called when the connection comes or goes; nil while no program runs.
    private var noteConnected: ((Bool) throws -> Void)?
    /// Of the connection: what comes over one that ended is lost.
    private var number = 0
    private var lastArrival: Int64 = 0
    /// What the system still has of what was sent over a path that was cut.
    private var held: [() throws -> Void] = []

    init(_ servers: SimulatedServers, of simulation: Simulation) {
        self.servers = servers
        self.simulation = simulation
    }

    var isConnected: Bool { server != nil }

    /// Whether requests over it are answered.
    var isServed: Bool { !isCut && servers.isServing && server.map { !servers.replicas[$0].isApart } ?? false }

    // MARK: Connecting

    /// Begins for a program that starts.
    func begin(_ noteConnected: @escaping (Bool) throws -> Void) {
        self.noteConnected = noteConnected
        connect(1_000_000...50_000_000)
    }

    /// Ends with its program. What the system has of what was sent still goes its way.
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

    /// Ends the connection, if it is to this server.
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

    /// Sends something that reaches the server, sooner or later or not at all, even if its program has ended by then.
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

    /// Answers over the connection that a question came over, if it is still there.
    private func answer(to number: Int, _ body: @escaping () throws -> Void) {
        simulation.later(100_000...8_000_000) { [self] in
            if self.number == number, !isCut, simulation.relays?.losesAnswer() != true { try body() }
        }
    }

    /// Asks a question, and takes what comes first: an answer, or the end of the time for it.
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

    /// Publishes a message. Nothing is known of it when the time for its acknowledgement is over.
    func publish(
        within limit: Int64, _ send: @escaping (Int, @escaping (Sending.Outcome) -> Void) -> Void,
        _ done: @escaping (Sending.Outcome) throws -> Void
    ) {
        let take = first(within: limit, or: .unknown("Timeout"), done)
        self.send { [self, number] server in
            send(server) { [self] outcome in answer(to: number) { try take(outcome) } }
        }
    }

    /// What is to be called with an answer. Only the first one counts, and none that comes after the time for it.
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

    /// Sends what nothing answers.
    func tell(_ body: @escaping (Int) -> Void) { send { body($0) } }
}
