package import ZeroMQ

/// Enforces the limits of a socket's peers: checks the connections as long as there are any, and closes those that
/// `ConnectionTable` selects.
package final class PeerGuard: ConnectionGuard {
    /// The interval between checks in nanoseconds, in which a peer on the same machine can send about 50 MB. All guards of a
    /// process check at the same instants, so that it wakes once.
    private static let period: Int64 = 50_000_000
    /// The interval for a second after a new connection, because a short-lived one must be checked, too.
    private static let firstPeriod: Int64 = 5_000_000
    private static let firstTime: Int64 = 1_000_000_000

    private let socket: String
    private let incidents: ConnectionIncidents
    private var table: ConnectionTable
    private var handles: [Int32: ConnectionHandle] = [:]
    private var cuts: Set<Int32> = []
    /// The reason of a failed handshake whose connection is about to end.
    private var failure: ConnectionIncident.Reason?
    private var lookedAt: Int64 = 0
    private var openedAt = Int64.min / 2

    /// - Parameter incidents: receives the incidents on the connections.
    package init(of socket: GuardedSocket, noting incidents: ConnectionIncidents) {
        self.socket = socket.pattern.rawValue
        self.incidents = incidents
        table = ConnectionTable(pattern: socket.pattern, limits: PeerLimits(of: socket))
    }

    package var nextLook: Int64? {
        guard !table.isEmpty else { return nil }
        let period = lookedAt < openedAt + Self.firstTime ? Self.firstPeriod : Self.period
        return (lookedAt / period + 1) * period
    }

    package func take(_ event: ConnectionEvent, at now: Int64) {
        switch event.kind {
        case .accepted: open(event, isIncoming: true, at: now)
        case .connected: open(event, isIncoming: false, at: now)
        case .handshakeFailed(let failure):
            self.failure =
                switch failure {
                case .protocolError: .handshakeFailed
                case .wrongMechanism: .wrongMechanism
                case .refused: .refused
                }
        case .disconnected:
            let handle = handles.removeValue(forKey: event.descriptor)
            table.close(event.descriptor, at: now)
            let wasCut = cuts.remove(event.descriptor) != nil
            // A connection that was closed during its handshake is already recorded.
            if let failure, !wasCut { note(failure, of: handle) }
            failure = nil
        case .connectRetried, .handshakeSucceeded, .stopped, .other: break
        }
    }

    package func look(at now: Int64, traffic: () async -> SocketTraffic) async {
        for (descriptor, handle) in handles where handle.hasEnded {
            handles[descriptor] = nil
            table.close(descriptor, at: now)
        }
        let readings = handles.compactMapValues(\.reading)
        lookedAt = now
        // While nothing happens, querying the owner would cost more than everything else.
        guard table.hasNews(in: readings) else { return }
        let traffic = await traffic()
        for (descriptor, reason) in table.judge(readings, traffic: traffic, at: now) { cut(descriptor, reason) }
    }

    package var isFull: Bool { table.isFull }

    private func open(_ event: ConnectionEvent, isIncoming: Bool, at now: Int64) {
        handles[event.descriptor] = event.handle
        openedAt = now
        cuts.remove(event.descriptor)
        table.open(event.descriptor, isIncoming: isIncoming, endpoint: event.endpoint, at: now)
        while let excess = table.excess(at: now, received: { handles[$0]?.reading?.received }) {
            cut(excess, .tooManyConnections)
        }
    }

    private func cut(_ descriptor: Int32, _ reason: ConnectionIncident.Reason) {
        guard let handle = handles[descriptor] else { return }
        handle.cut()
        cuts.insert(descriptor)
        note(reason, of: handle)
    }

    private func note(_ reason: ConnectionIncident.Reason, of handle: ConnectionHandle?) {
        incidents.record(ConnectionIncident(socket: socket, reason: reason, peer: handle?.peer ?? "unknown"))
    }
}
