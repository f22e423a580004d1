import SampleSources

/// A reorder queue for messages with positions: sample numbers or message numbers.
///
/// A message that arrives before its predecessors waits a while for them. Its client waits for the answer meanwhile, so the
/// number of connections bounds the number of messages in all queues.
struct PushQueue<Message> {
    struct Waiting {
        let range: Range<Int>
        let message: Message
        /// The request to answer.
        let request: Int
        /// When it arrived, on the monotonic clock.
        let at: Int64
        /// When the same positions first arrived, if the message is a repetition, on the monotonic clock.
        var since: Int64?

        var waitsSince: Int64 { since ?? at }
    }

    /// How long a message waits for its predecessors, in nanoseconds.
    static var patience: Int64 { 3 * Nanoseconds.perSecond }
    /// Messages waiting in one queue; with more, the missing ones before them are given up. Fewer than the messages of
    /// a broker that may be under way, so that one queue does not stop all reading.
    private static var maximumWaiting: Int { 32 }

    /// The position expected next.
    private(set) var next: Int
    /// Sorted by first position.
    private var waiting: [Waiting] = []

    init(next: Int) { self.next = next }

    /// When the missing messages before a waiting one are given up, on the monotonic clock; nil while nothing waits.
    var deadline: Int64? {
        guard var first = waiting.first?.waitsSince else { return nil }
        for one in waiting where one.waitsSince < first { first = one.waitsSince }
        return first + Self.patience
    }

    /// Adds a message.
    /// - Returns: the waiting message with the same positions, which the new one replaces. The deadline stays: a client
    ///   that repeats its message does not delay it.
    mutating func add(_ message: Waiting) -> Waiting? {
        if let place = waiting.firstIndex(where: { $0.range == message.range }) {
            let replaced = waiting[place]
            waiting[place] = message
            waiting[place].since = replaced.waitsSince
            return replaced
        }
        let place = waiting.firstIndex { $0.range.lowerBound > message.range.lowerBound } ?? waiting.count
        waiting.insert(message, at: place)
        return nil
    }

    /// The next message whose turn has come. Call `advance` after handling it.
    mutating func pop() -> Waiting? {
        guard let first = waiting.first, first.range.lowerBound <= next else { return nil }
        return waiting.removeFirst()
    }

    /// The positions to be given up, so that the first waiting message has its turn; nil if none are to be given up yet.
    func missing(at now: Int64) -> Range<Int>? {
        guard let first = waiting.first, first.range.lowerBound > next,
            waiting.count > Self.maximumWaiting || deadline.map({ $0 <= now }) ?? false
        else { return nil }
        return next..<first.range.lowerBound
    }

    mutating func advance(to position: Int) { next = max(next, position) }

    /// Removes all waiting messages.
    mutating func removeAll() -> [Waiting] {
        defer { waiting = [] }
        return waiting
    }
}
