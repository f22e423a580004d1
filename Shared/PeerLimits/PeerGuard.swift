package import ZeroMQ

/// Holds a socket's peers to their limits: looks at the connections as long as there are any, and cuts those that
/// `ConnectionTable` names.
package final class PeerGuard: ConnectionGuard {
    /// How often connections are looked at, in nanoseconds: in that time a peer on the same machine can send some 50 MB. All
    /// guards of a process look at the same instants, so that it wakes once.
    private static let period: Int64 = 50_000_000
    /// The same for a second after a connection was made: one that comes and goes must have been looked at.
    private static let firstPeriod: Int64 = 5_000_000
    private static let firstTime: Int64 = 1_000_000_000

    private let socket: String
    private let incidents: ConnectionIncidents
    private var table: ConnectionTable
    private var handles: [Int32: ConnectionHandle] = [:]
    private var cuts: Set<Int32> = []
    /// Why a handshake has failed whose connection is about to end.
    private var failure: ConnectionIncident.Reason?
    private var lookedAt: Int64 = 0
    private var openedAt = Int64.min / 2

    /// - Parameter incidents: gets what happens to the connections.
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
            // One that was cut while it shook hands is noted already.
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
        // To ask the owner costs more than all else while nothing happens.
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
