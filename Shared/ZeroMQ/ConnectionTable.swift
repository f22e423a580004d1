/// Decides which connections of a socket are cut, from what the kernel and the socket's owner have counted.
///
/// A pure value without sockets or clocks. What a peer sent and nobody took out of the socket is *unfinished*: queued
/// messages, and then frames of a message that does not end. Messages may queue, up to the high-water mark, as long as
/// their reader is behind; they are told from the others by this: a reader who finds none has taken them all.
struct ConnectionTable: Sendable {
    /// What a socket is for: what its peers send.
    enum Pattern: Sendable {
        /// PUB: subscriptions, which are kept.
        case publish
        /// SUB: events, of which many may queue.
        case subscribe
        /// ROUTER: requests.
        case reply
        /// REQ: the answer to a request, and nothing before or after it.
        case request

        /// As libzmq calls it.
        var name: String {
            switch self {
            case .publish: Socket.Kind.publish.name
            case .subscribe: Socket.Kind.subscribe.name
            case .reply: Socket.Kind.router.name
            case .request: Socket.Kind.request.name
            }
        }
    }

    private struct Connection: Sendable {
        let number: Int
        let isIncoming: Bool
        let openedAt: Int64
        /// Whom we connected to; empty for a peer that connected to us.
        let endpoint: String
        /// Bytes that its predecessor to the same endpoint left to be read: libzmq hands them over before its own.
        var left = 0
        /// Bytes received when looked at last.
        var received = 0
        /// Those of them that are accounted for.
        var accounted = 0
        var sent = 0
        var isCut = false

        var unfinished: Int { received - accounted }
        var waiting: Int { left + unfinished }
    }

    /// Unfinished bytes that nobody asks about: frames that are just under way.
    private static let unsuspicious = 256 << 10
    /// What a peer has sent that has begun to shake hands: more than the greeting of ZMTP 3.
    private static let greeting = 64

    private let pattern: Pattern
    private let limits: ConnectionLimits
    private var connections: [Int32: Connection] = [:]
    private var lastNumber = 0
    private var lastOpened: Int32 = -1
    /// What was read when there was something to judge last.
    private var lastReadings: [Int32: ConnectionHandle.Reading] = [:]
    /// The process's memory when there was nothing suspicious last; nil where nothing has come since.
    private var calmMemory: Int?
    /// Whether more is unfinished than what is just under way.
    private(set) var isSuspicious = false
    /// What connections that have ended left to be read.
    private var abandoned = 0
    /// The same of connections that we made, each of which is made again.
    private var left: [String: Int] = [:]
    /// Nanoseconds that no whole byte was forgotten for yet.
    private var forgettingTime = 0

    init(pattern: Pattern, limits: ConnectionLimits) {
        self.pattern = pattern
        self.limits = limits
    }

    /// Bytes that connections have left which ended, and that only their owner's `settle` takes in.
    var unsettled: Int { pattern == .publish ? abandoned : 0 }

    /// Notes that they were taken in.
    mutating func settle(_ bytes: Int) { abandoned = max(0, abandoned - bytes) }

    /// Whether there is nothing to look at.
    var isEmpty: Bool { connections.isEmpty && abandoned == 0 }

    /// Notes a connection that was made.
    /// - Parameter endpoint: whom we connected to.
    mutating func open(_ descriptor: Int32, isIncoming: Bool, endpoint: String = "", at now: Int64 = 0) {
        lastNumber += 1
        lastOpened = descriptor
        connections[descriptor] = Connection(
            number: lastNumber, isIncoming: isIncoming, openedAt: now, endpoint: isIncoming ? "" : endpoint,
            left: isIncoming ? 0 : left.removeValue(forKey: endpoint) ?? 0)
    }

    /// Notes that a connection has ended.
    mutating func close(_ descriptor: Int32) {
        guard let connection = connections.removeValue(forKey: descriptor) else { return }
        if pattern == .reply || pattern == .publish { abandoned += connection.unfinished }
        if pattern == .subscribe, !connection.isIncoming { left[connection.endpoint] = connection.waiting }
    }

    /// The connection to cut where there are too many, or where others left more to be read than fits: the oldest of
    /// those that have not begun to shake hands, or the newest, so that a flood of newcomers harms nobody who was there
    /// before.
    ///
    /// Where keys are asked for, strangers are counted apart from those whose keys let them in.
    /// - Parameter received: how many bytes a connection has sent.
    mutating func surplus(at now: Int64 = 0, received: (Int32) -> Int?) -> Int32? {
        let isFull = abandoned > (pattern == .publish ? Self.unsuspicious : limits.totalUnfinishedBytes)
        guard isFull || connections.count > limits.maximumConnections else { return nil }
        let all = connections.filter { $0.value.isIncoming && !$0.value.isCut }
        let strangers = all.filter { now - $0.value.openedAt <= limits.strangersTime ?? .max }
        let isCrowded = all.count - strangers.count > limits.maximumConnections
        let incoming = isCrowded ? all.filter { strangers[$0.key] == nil } : strangers
        guard incoming.count > limits.maximumConnections || isFull && incoming[lastOpened] != nil else { return nil }
        let silent = incoming.filter { $0.value.received <= Self.greeting }
            .sorted { $0.value.number < $1.value.number }
        for (descriptor, _) in silent {
            // Where nobody counts (ipc), all are taken to have spoken.
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

    /// Whether a judgement could find anything: something came or went, or waits to be taken or read. Where none could,
    /// whatever memory grows until the next is no peer's doing.
    mutating func hasNews(in readings: [Int32: ConnectionHandle.Reading]) -> Bool {
        let isQuiet =
            readings == lastReadings && abandoned == 0 && readings.values.allSatisfy(\.isAllSent)
            && connections.values.reduce(0) { $0 + $1.unfinished } <= Self.unsuspicious
        lastReadings = readings
        if isQuiet { calmMemory = nil }
        return !isQuiet
    }

    /// The connections to cut for what they have sent, or not read.
    /// - Parameters:
    ///   - readings: what the kernel has counted. A connection without one is not judged.
    ///   - use: what the owner has counted since the last time, asked after the readings were taken.
    ///   - memory: what the process takes, in bytes.
    ///   - nanoseconds: the time since the last judgement.
    mutating func judge(
        _ readings: [Int32: ConnectionHandle.Reading], use: SocketTraffic, memory: Int, nanoseconds: Int
    ) -> [Int32: ConnectionIncident.Reason] {
        let forgotten = forgotten(after: nanoseconds)
        if use.isDrained {
            abandoned = 0
            left = [:]
        }
        var unfinished: [Int32: Int] = [:]
        var waiting: [Int32: Int] = [:]
        var unread: [Int32: Int] = [:]
        let exchanges = use.exchanges
        for (descriptor, reading) in readings {
            guard var connection = connections[descriptor], !connection.isCut else { continue }
            let exchange = exchanges[descriptor]
            let before = connection.unfinished
            connection.received = max(connection.received, reading.received)
            connection.accounted += forgotten
            if use.isDrained { connection.left = 0 }
            if let taken = exchange?.takenBytes, taken > 0 {
                let isAllTaken = use.isDrained || pattern == .request
                let old = min(connection.left, taken)
                connection.left -= old
                connection.accounted = isAllTaken ? connection.received : connection.accounted + taken - old
            }
            connection.accounted = min(connection.accounted, connection.received)
            // What libzmq still has of replies it gives to the kernel as soon as that has room.
            connection.sent = max(connection.sent + (exchange?.sentBytes ?? 0), reading.acknowledged)
            if reading.isAllSent { connection.sent = reading.acknowledged }
            connections[descriptor] = connection
            unfinished[descriptor] = judged(connection, before: before, took: exchange != nil, use: use)
            unread[descriptor] = connection.sent - reading.acknowledged
            if pattern == .subscribe { waiting[descriptor] = connection.waiting }
        }
        var cuts: [Int32: ConnectionIncident.Reason] = [:]
        let reason = pattern == .publish ? ConnectionIncident.Reason.tooManySubscriptions : .unfinishedMessage
        cutGreediest(
            of: &unfinished, each: limits.unfinishedBytes, all: limits.totalUnfinishedBytes, reason, into: &cuts)
        cutGreediest(of: &unread, each: limits.unreadBytes, all: 2 * limits.unreadBytes, .unreadReplies, into: &cuts)
        cutForMemory(&unfinished, memory: memory, reason, into: &cuts)
        if waiting.values.contains(where: { $0 > limits.waitingBytes / 4 }) { isSuspicious = true }
        cutGreediest(of: &waiting, each: limits.waitingBytes, all: 2 * limits.waitingBytes, .backlog, into: &cuts)
        for descriptor in cuts.keys { connections[descriptor]?.isCut = true }
        return cuts
    }

    /// How much of what a connection has unfinished is no message that waits for its reader.
    /// - Parameter before: what it had when it was looked at last.
    private func judged(_ connection: Connection, before: Int, took: Bool, use: SocketTraffic) -> Int {
        if pattern != .subscribe || use.isDrained { return connection.unfinished }
        // The reader is behind. libzmq gives it messages of all connections in turn, so one that had none in several
        // turns has none.
        return !took && use.messages > 2 * connections.count + 16 ? min(before, connection.unfinished) : 0
    }

    private func cutGreediest(
        of bytes: inout [Int32: Int], each: Int, all: Int, _ reason: ConnectionIncident.Reason,
        into cuts: inout [Int32: ConnectionIncident.Reason]
    ) {
        var sum = bytes.values.reduce(0, +)
        while let greediest = bytes.max(by: { $0.value < $1.value }), greediest.value > each || sum > all {
            cuts[greediest.key] = reason
            sum -= greediest.value
            bytes[greediest.key] = nil
        }
    }

    /// Cuts who is likeliest the cause where memory grows by more than what arrives explains.
    private mutating func cutForMemory(
        _ unfinished: inout [Int32: Int], memory: Int, _ reason: ConnectionIncident.Reason,
        into cuts: inout [Int32: ConnectionIncident.Reason]
    ) {
        let sum = unfinished.values.reduce(0, +)
        isSuspicious = sum > Self.unsuspicious
        let before = calmMemory ?? memory
        calmMemory = isSuspicious ? before : memory
        guard isSuspicious, pattern != .publish, memory - before > limits.memoryGrowth + sum,
            let greediest = unfinished.max(by: { $0.value < $1.value })?.key
        else { return }
        cuts[greediest] = reason
        // The next one is cut when memory goes on to grow.
        calmMemory = memory
    }

    /// Whole bytes to forget.
    private mutating func forgotten(after nanoseconds: Int) -> Int {
        forgettingTime += min(nanoseconds, 1_000_000_000)
        let bytes = forgettingTime * limits.forgottenPerSecond / 1_000_000_000
        if limits.forgottenPerSecond > 0 { forgettingTime -= bytes * 1_000_000_000 / limits.forgottenPerSecond }
        return bytes
    }
}
