package import ZeroMQ

/// Decides which connections of a socket to close, from the counts of the kernel and of the socket's owner.
///
/// A pure value without sockets or clocks; times are passed in, in nanoseconds of `MonotonicClock`. Bytes that a peer sent and
/// that the owner has not received are *unfinished*: queued messages, or frames of a message that does not end. Messages may
/// queue up to the high-water mark while their reader is behind. They differ in one respect: when the reader finds no message,
/// it has taken all queued ones.
package struct ConnectionTable: Sendable {
    private struct Connection: Sendable {
        let number: Int
        let isIncoming: Bool
        let openedAt: Int64
        /// The endpoint of an outgoing connection; empty for an incoming one.
        let endpoint: String
        /// Unread bytes of the previous connection to the same endpoint: libzmq delivers them before this connection's own.
        var left = 0
        /// Bytes received at the last check.
        var received = 0
        /// The part of `received` that is accounted for.
        var accounted = 0
        var sent = 0
        var isCut = false

        var unfinished: Int { received - accounted }
        var waiting: Int { left + unfinished }
    }

    /// Unfinished bytes up to which no check is needed: frames that are under way.
    private static let unsuspicious = 256 << 10
    /// A peer that has sent more than this many bytes has begun its handshake: more than the greeting of ZMTP 3.
    private static let greeting = 64

    private let pattern: GuardedSocket.Pattern
    private let limits: PeerLimits
    private var connections: [Int32: Connection] = [:]
    private var lastNumber = 0
    private var lastOpened: Int32 = -1
    /// The readings at the last check.
    private var lastReadings: [Int32: ConnectionHandle.Reading] = [:]
    private var judgedAt: Int64 = 0
    /// Unfinished bytes of ended connections: requests to read, or subscriptions for libzmq to remove.
    private var abandoned = 0
    private var forgotAbandonedAt: Int64 = 0
    /// Unread bytes of ended outgoing connections, by endpoint, until they are reconnected.
    private var left: [String: Int] = [:]
    /// Nanoseconds for which no whole byte was forgotten yet.
    private var forgettingTime = 0

    package init(pattern: GuardedSocket.Pattern, limits: PeerLimits) {
        self.pattern = pattern
        self.limits = limits
    }

    /// Whether there is nothing to check.
    package var isEmpty: Bool { connections.isEmpty && abandoned == 0 }

    /// Whether new connections are refused, because ended connections left too much to process.
    package var isFull: Bool {
        abandoned > (pattern == .publish ? PeerLimits.abandonedSubscriptions : limits.totalUnfinishedBytes)
    }

    /// Adds a new connection.
    /// - Parameter endpoint: the endpoint of an outgoing connection.
    package mutating func open(_ descriptor: Int32, isIncoming: Bool, endpoint: String = "", at now: Int64) {
        lastNumber += 1
        lastOpened = descriptor
        connections[descriptor] = Connection(
            number: lastNumber, isIncoming: isIncoming, openedAt: now, endpoint: isIncoming ? "" : endpoint,
            left: isIncoming ? 0 : left.removeValue(forKey: endpoint) ?? 0)
    }

    package mutating func close(_ descriptor: Int32, at now: Int64) {
        guard let connection = connections.removeValue(forKey: descriptor) else { return }
        switch pattern {
        case .publish: abandonSubscriptions(of: connection, at: now)
        case .reply: abandoned += connection.unfinished
        case .subscribe: if !connection.isIncoming { left[connection.endpoint] = connection.waiting }
        case .request: break
        }
    }

    /// The connection to close because there are too many, or because ended ones left too much to process: the oldest that has
    /// not begun its handshake, or else the newest. So a flood of new connections harms no established peer.
    ///
    /// If keys are required, strangers are counted apart from admitted peers.
    /// - Parameter received: the number of bytes that a connection has sent; nil if the kernel does not count.
    package mutating func excess(at now: Int64, received: (Int32) -> Int?) -> Int32? {
        guard isFull || connections.count > limits.maximumConnections else { return nil }
        let all = connections.filter { $0.value.isIncoming && !$0.value.isCut }
        let strangers = all.filter { now - $0.value.openedAt <= limits.strangersTime ?? .max }
        let isCrowded = all.count - strangers.count > limits.maximumConnections
        let incoming = isCrowded ? all.filter { strangers[$0.key] == nil } : strangers
        guard incoming.count > limits.maximumConnections || isFull && incoming[lastOpened] != nil else { return nil }
        let silent = incoming.filter { $0.value.received <= Self.greeting }
            .sorted { $0.value.number < $1.value.number }
        for (descriptor, _) in silent {
            // If the kernel does not count (ipc), every peer is assumed to have begun its handshake.
            let received = received(descriptor) ?? Self.greeting + 1
            if received <= Self.greeting {
                connections[descriptor]?.isCut = true
                return descriptor
            }
            connections[descriptor]?.received = received
        }
        guard let newest = incoming.max(by: { $0.value.number < $1.value.number })?.key else { return nil }
        connections[newest]?.isCut = true
        return newest
    }

    /// Whether a judgement could find anything: bytes were exchanged, or wait to be taken or read.
    package mutating func hasNews(in readings: [Int32: ConnectionHandle.Reading]) -> Bool {
        let isQuiet =
            readings == lastReadings && abandoned == 0 && readings.values.allSatisfy(\.isAllSent)
            && connections.values.reduce(0) { $0 + $1.unfinished } <= Self.unsuspicious
        lastReadings = readings
        return !isQuiet
    }

    /// The connections to close because of what they have sent, or not read.
    /// - Parameters:
    ///   - readings: the kernel's counts. A connection without one is not judged.
    ///   - traffic: the owner's counts since the last judgement, queried after the readings.
    package mutating func judge(
        _ readings: [Int32: ConnectionHandle.Reading], traffic: SocketTraffic, at now: Int64
    ) -> [Int32: ConnectionIncident.Reason] {
        let forgotten = forgottenBytes(at: now)
        if pattern == .publish {
            forgetAbandonedSubscriptions(isSettled: traffic.isDrained, at: now)
        } else if traffic.isDrained {
            abandoned = 0
            left = [:]
        }
        var unfinished: [Int32: Int] = [:]
        var waiting: [Int32: Int] = [:]
        var unread: [Int32: Int] = [:]
        let exchanges = traffic.exchanges
        for (descriptor, reading) in readings {
            guard var connection = connections[descriptor], !connection.isCut else { continue }
            let exchange = exchanges[descriptor]
            let before = connection.unfinished
            connection.received = max(connection.received, reading.received)
            connection.accounted += forgotten
            if traffic.isDrained { connection.left = 0 }
            if let taken = exchange?.takenBytes, taken > 0 {
                let isAllTaken = traffic.isDrained || pattern == .request
                let old = min(connection.left, taken)
                connection.left -= old
                connection.accounted = isAllTaken ? connection.received : connection.accounted + taken - old
            }
            connection.accounted = min(connection.accounted, connection.received)
            // libzmq passes its remaining reply bytes to the kernel as soon as there is room.
            connection.sent = max(connection.sent + (exchange?.sentBytes ?? 0), reading.acknowledged)
            if reading.isAllSent { connection.sent = reading.acknowledged }
            connections[descriptor] = connection
            unfinished[descriptor] = unfinishedFrames(
                of: connection, before: before, took: exchange != nil, traffic: traffic)
            unread[descriptor] = connection.sent - reading.acknowledged
            if pattern == .subscribe { waiting[descriptor] = connection.waiting }
        }
        var cuts: [Int32: ConnectionIncident.Reason] = [:]
        cutGreediest(
            of: unfinished, each: limits.unfinishedBytes, all: limits.totalUnfinishedBytes,
            pattern == .publish ? .tooManySubscriptions : .unfinishedMessage, into: &cuts)
        cutGreediest(of: unread, each: limits.unreadBytes, all: 2 * limits.unreadBytes, .unreadReplies, into: &cuts)
        cutGreediest(of: waiting, each: limits.waitingBytes, all: 2 * limits.waitingBytes, .backlog, into: &cuts)
        for descriptor in cuts.keys {
            guard var connection = connections[descriptor] else { continue }
            connection.isCut = true
            if pattern == .publish {
                // Counted at once: until its end is noticed, other connections would be admitted.
                abandonSubscriptions(of: connection, at: now)
                connection.accounted = connection.received
            }
            connections[descriptor] = connection
        }
        return cuts
    }

    /// The part of a connection's unfinished bytes that is not a message waiting for its reader.
    /// - Parameter before: the unfinished bytes at the last check.
    private func unfinishedFrames(of connection: Connection, before: Int, took: Bool, traffic: SocketTraffic) -> Int {
        if pattern != .subscribe || traffic.isDrained { return connection.unfinished }
        // The reader is behind. libzmq delivers messages of all connections in turn, so a connection without one in several
        // turns has none queued.
        return !took && traffic.messages > 2 * connections.count + 16 ? min(before, connection.unfinished) : 0
    }

    private func cutGreediest(
        of bytes: [Int32: Int], each: Int, all: Int, _ reason: ConnectionIncident.Reason,
        into cuts: inout [Int32: ConnectionIncident.Reason]
    ) {
        var sum = bytes.values.reduce(0, +)
        // Deterministic for equal numbers of bytes, whatever the dictionary's order.
        for (descriptor, count) in bytes.sorted(by: { ($0.value, $0.key) > ($1.value, $1.key) }) {
            guard count > each || sum > all else { return }
            cuts[descriptor] = reason
            sum -= count
        }
    }

    /// The number of unfinished bytes to forget for each connection.
    private mutating func forgottenBytes(at now: Int64) -> Int {
        forgettingTime += min(Int(now - judgedAt), 1_000_000_000)
        judgedAt = now
        let bytes = forgettingTime * limits.forgottenPerSecond / 1_000_000_000
        if limits.forgottenPerSecond > 0 { forgettingTime -= bytes * 1_000_000_000 / limits.forgottenPerSecond }
        return bytes
    }

    private mutating func abandonSubscriptions(of connection: Connection, at now: Int64) {
        if abandoned == 0 { forgotAbandonedAt = now }
        let most = PeerLimits.abandonedSubscriptions + PeerLimits.forgottenSubscriptionsPerSecond / 2
        abandoned = min(abandoned + connection.unfinished, most)
    }

    /// - Parameter isSettled: whether libzmq had removed everything it had to; until then nothing is forgotten.
    private mutating func forgetAbandonedSubscriptions(isSettled: Bool, at now: Int64) {
        let time = isSettled ? Int(min(now - forgotAbandonedAt, 1_000_000_000)) : 0
        abandoned = max(0, abandoned - time * PeerLimits.forgottenSubscriptionsPerSecond / 1_000_000_000)
        forgotAbandonedAt = now
    }
}
