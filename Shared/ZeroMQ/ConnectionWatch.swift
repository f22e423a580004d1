import CZeroMQ
import Glibc

/// Reads a socket's connection events, and looks at its connections twenty times a second as long as there are any.
actor ConnectionWatch {
    /// How often connections are looked at, in nanoseconds: in that time a peer on the same machine can send some
    /// 50 MB. All watches of a process look at the same instants, so that it wakes once.
    private static let period: Int64 = 50_000_000
    /// How often while there is reason to be alert: one is new, or suspicious.
    private static let alertPeriod: Int64 = 5_000_000
    /// How long one alert lasts.
    private static let alertTime: Int64 = 1_000_000_000
    /// How soon after a connection was cut memory is given back, and newcomers are let in again: once libzmq has let go of it,
    /// and not more often.
    private static let releaseTime: Int64 = 500_000_000

    private let thread: SocketThread
    private let socket: Socket
    private let pattern: ConnectionTable.Pattern
    private let incidents: ConnectionIncidents
    private var table: ConnectionTable
    private var handles: [Int32: ConnectionHandle] = [:]
    private var listeners: [Int32: ListeningHandle] = [:]
    /// Why a handshake has failed whose connection is about to end: libzmq names the connection only then.
    private var failure: ConnectionIncident.Reason?
    private var lookedAt = MonotonicClock.now
    private var judgedAt = MonotonicClock.now
    private var alertUntil: Int64 = 0
    /// When to give back memory, and to let newcomers in again.
    private var release: Int64?
    private var isSettling = false
    private var settledAt: Int64 = 0
    private var cuts: Set<Int32> = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init(
        _ pair: consuming Socket, pattern: ConnectionTable.Pattern, limits: ConnectionLimits,
        incidents: ConnectionIncidents, thread: SocketThread
    ) {
        socket = pair
        self.pattern = pattern
        self.incidents = incidents
        self.thread = thread
        table = ConnectionTable(pattern: pattern, limits: limits)
    }

    /// Watches until the socket closes.
    /// - Parameters:
    ///   - count: counts an event.
    ///   - owner: who uses the socket; nil where nobody can be asked.
    func run(counting count: (Event) -> Void, owner: () -> (any ConnectionUser)?) async {
        var batch = MessageBatch()
        while true {
            batch.removeAll()
            guard let hasMessage = try? socket.receive(into: &batch) else { return }
            if hasMessage {
                let event = batch.withUnsafeMessages { Event($0) }
                if event.number == ZMQ_EVENT_MONITOR_STOPPED { return }
                count(event)
                take(event)
                continue
            }
            let now = MonotonicClock.now
            if let next, now >= next { await look(asking: owner()) }
            guard (try? await thread.wait(socket: socket.handle, deadline: next)) != nil else { return }
        }
    }

    /// When to look next; nil where there is nothing to look at.
    private var next: Int64? {
        guard !table.isEmpty || release != nil else { return nil }
        let period = lookedAt < alertUntil ? Self.alertPeriod : Self.period
        return (lookedAt / period + 1) * period
    }

    /// An event is two frames: number (16 bit) and value (32 bit), then an endpoint.
    struct Event {
        var number: Int32 = 0
        var value: Int32 = 0
        var endpoint = ""

        init(_ messages: UnsafeMessages) {
            let frame = messages.frame(0, of: 0)
            guard frame.count >= 6, messages.frameCount(of: 0) > 1 else { return }
            number = Int32(frame.loadUnaligned(as: UInt16.self))
            value = frame.loadUnaligned(fromByteOffset: 2, as: Int32.self)
            endpoint = String(decoding: messages.frame(1, of: 0), as: UTF8.self)
        }
    }

    private func take(_ event: Event) {
        switch event.number {
        case ZMQ_EVENT_LISTENING:
            listeners[event.value] = ListeningHandle(descriptor: event.value, endpoint: event.endpoint)
        case ZMQ_EVENT_CLOSED: listeners[event.value] = nil
        case ZMQ_EVENT_ACCEPTED, ZMQ_EVENT_CONNECTED:
            let isIncoming = event.number == ZMQ_EVENT_ACCEPTED
            let handle = ConnectionHandle(
                descriptor: event.value, endpoint: event.endpoint, isIncoming: isIncoming)
            if isIncoming, pattern == .publish { handle.makeRoom() }
            handles[event.value] = handle
            cuts.remove(event.value)
            let now = MonotonicClock.now
            table.open(event.value, isIncoming: isIncoming, endpoint: event.endpoint, at: now)
            alert()
            while let surplus = table.surplus(at: now, received: { handles[$0]?.reading?.received }) {
                cut(surplus, .tooManyConnections)
            }
        case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL: failure = .handshakeFailed
        case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH: failure = .refused
        case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
            failure =
                event.value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH ? .wrongMechanism : .handshakeFailed
        case ZMQ_EVENT_DISCONNECTED:
            let handle = handles.removeValue(forKey: event.value)
            table.close(event.value)
            // One that we cut while it shook hands was recorded already.
            if let failure, !cuts.contains(event.value) {
                incidents.record(
                    ConnectionIncident(socket: pattern.name, reason: failure, peer: handle?.peer ?? "unknown"))
            }
            cuts.remove(event.value)
            failure = nil
        default: break
        }
    }

    private func look(asking owner: (any ConnectionUser)?) async {
        let now = MonotonicClock.now
        for (descriptor, handle) in handles where handle.hasEnded {
            handles[descriptor] = nil
            table.close(descriptor)
        }
        let readings = handles.compactMapValues(\.reading)
        lookedAt = now
        // Each judgement asks the owner and the kernel, which costs more than all else while nothing happens.
        guard table.hasNews(in: readings) || release != nil else { return }
        let use = await owner?.takeTraffic() ?? SocketTraffic()
        let verdict = table.judge(
            readings, use: use, memory: ProcessMemory.resident, nanoseconds: Int(now - judgedAt))
        judgedAt = now
        if table.isSuspicious { alert() }
        for (descriptor, reason) in verdict { cut(descriptor, reason) }
        if release != nil || table.unsettled > 0, now - settledAt >= Self.period, let owner { settle(owner, at: now) }
        if let release, release <= now {
            // What was freed stays with the process as long as something lies above it.
            malloc_trim(0)
            self.release = nil
            for listener in listeners.values { listener.open() }
        }
    }

    /// A socket that nobody reads, and on which little is published, keeps what came over connections that have ended. That
    /// is taken in on another thread: here it would keep us from cutting those that go on to send.
    private func settle(_ owner: any ConnectionUser, at now: Int64) {
        guard !isSettling else { return }
        isSettling = true
        settledAt = now
        // Nobody awaits it: it ends with the flood, which is cut meanwhile.
        let bytes = table.unsettled
        Task {
            await owner.settle()
            table.settle(bytes)
            isSettling = false
        }
    }

    private func alert() {
        alertUntil = MonotonicClock.now + Self.alertTime
    }

    private func cut(_ descriptor: Int32, _ reason: ConnectionIncident.Reason) {
        guard let handle = handles[descriptor] else { return }
        handle.cut()
        cuts.insert(descriptor)
        release = release ?? MonotonicClock.now + Self.releaseTime
        if reason == .tooManySubscriptions {
            // libzmq looks for each connection that ends in all subscriptions of all others: were they made again at once,
            // it would do nothing else.
            for listener in listeners.values { listener.shut() }
        }
        incidents.record(ConnectionIncident(socket: pattern.name, reason: reason, peer: handle.peer))
    }
}
