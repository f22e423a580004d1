import DequeModule
import Messages

/// Whose turn it is to have missing samples asked for.
///
/// After a restart every stream misses some at once. Only so many are asked for at the same time, and fewer of them at one
/// publisher, so that one that does not answer keeps nobody waiting but its own streams.
struct RecoveryTurns: Sendable {
    /// How many streams are asked for at the same time. Each has a socket.
    static let maximum = 32
    /// How many of them at one publisher.
    static let maximumAtOnePublisher = 8

    private var waiting: [String: Deque<StreamName>] = [:]
    /// Publishers of which a stream could have its turn: some wait, and not too many are under way.
    private var ready: Deque<String> = []
    private var underWay: [StreamName: String] = [:]
    private var countUnderWay: [String: Int] = [:]

    /// Nobody waits.
    init() {}

    /// Puts a stream at the end of its publisher's queue. It must neither wait nor have its turn.
    mutating func add(_ stream: StreamName, at publisher: String) {
        waiting[publisher, default: []].append(stream)
        if !ready.contains(publisher), hasRoom(publisher) { ready.append(publisher) }
    }

    /// Gives a stream its turn; nil where nobody may have one now.
    mutating func next() -> StreamName? {
        guard underWay.count < Self.maximum, let publisher = ready.popFirst(),
            let stream = waiting[publisher]?.popFirst()
        else { return nil }
        if waiting[publisher]?.isEmpty == true { waiting[publisher] = nil }
        underWay[stream] = publisher
        countUnderWay[publisher, default: 0] += 1
        // Publishers take turns.
        if waiting[publisher] != nil, hasRoom(publisher) { ready.append(publisher) }
        return stream
    }

    /// Ends a stream's turn.
    mutating func end(_ stream: StreamName) {
        guard let publisher = underWay.removeValue(forKey: stream) else { return }
        let left = (countUnderWay[publisher] ?? 1) - 1
        countUnderWay[publisher] = left > 0 ? left : nil
        if waiting[publisher] != nil, !ready.contains(publisher) { ready.append(publisher) }
    }

    private func hasRoom(_ publisher: String) -> Bool {
        countUnderWay[publisher] ?? 0 < Self.maximumAtOnePublisher
    }
}
