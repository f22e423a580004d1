import SampleSources

/// Puts messages in order that count something: samples by their numbers, or messages.
///
/// A message that comes before those ahead of it waits a while for them. Its client waits for an answer meanwhile, so the number of
/// connections bounds how many messages wait in all queues.
struct PushQueue<Message> {
    struct Waiting {
        let range: Range<Int>
        let message: Message
        /// The request to answer.
        let request: Int
        /// When it came, on the monotonic clock.
        let at: Int64
    }

    /// How long a message waits for those ahead of it, in nanoseconds.
    static var patience: Int64 { 3 * Nanoseconds.perSecond }
    /// Messages that wait in one queue; with more, those ahead of them are given up.
    private static var maximumWaiting: Int { 64 }

    /// What is expected next.
    private(set) var next: Int
    /// Sorted by their ranges.
    private var waiting: [Waiting] = []

    init(next: Int) { self.next = next }

    /// When those ahead of what waits are given up, on the monotonic clock; nil while nothing waits.
    var deadline: Int64? {
        guard var first = waiting.first?.at else { return nil }
        for one in waiting where one.at < first { first = one.at }
        return first + Self.patience
    }

    /// Has a message wait.
    /// - Returns: the one that had waited with the same beginning, which the new one replaces.
    mutating func add(_ message: Waiting) -> Waiting? {
        let place = waiting.firstIndex { $0.range.lowerBound >= message.range.lowerBound } ?? waiting.count
        guard place < waiting.count, waiting[place].range.lowerBound == message.range.lowerBound else {
            waiting.insert(message, at: place)
            return nil
        }
        defer { waiting[place] = message }
        return waiting[place]
    }

    /// The next message whose turn has come. Call `advance` when it is dealt with.
    mutating func pop() -> Waiting? {
        guard let first = waiting.first, first.range.lowerBound <= next else { return nil }
        return waiting.removeFirst()
    }

    /// What is to be given up, so that the first message that waits has its turn; nil if there is nothing to give up yet.
    func missing(at now: Int64) -> Range<Int>? {
        guard let first = waiting.first, first.range.lowerBound > next,
            waiting.count > Self.maximumWaiting || deadline.map({ $0 <= now }) ?? false
        else { return nil }
        return next..<first.range.lowerBound
    }

    mutating func advance(to position: Int) { next = max(next, position) }

    /// Removes everything that waits.
    mutating func removeAll() -> [Waiting] {
        defer { waiting = [] }
        return waiting
    }
}
