/// Messages of datagrams that are not dealt with yet, and what became of others.
struct WaitingDatagrams {
    /// Which addresses speak for which devices.
    var sources = DatagramSources()
    /// Datagrams that the system threw away.
    var dropped = 0
    var reportedDropped = 0
    private(set) var waitingBytes = 0
    /// By the numbers of their requests.
    private var waiting: [Int: (source: String, bytes: Int)] = [:]
    private var problem: (count: Int, sentence: String)?

    mutating func add(_ request: Int, of source: String, _ bytes: Int) {
        waiting[request] = (source, bytes)
        waitingBytes += bytes
    }

    /// Notes what a message would be answered.
    /// - Returns: whether it was one of a datagram, so that nobody waits for the answer.
    mutating func settle(_ request: Int, _ answer: PushAnswer) -> Bool {
        guard let (source, bytes) = waiting.removeValue(forKey: request) else { return false }
        waitingBytes -= bytes
        if case .refused(let refusal) = answer { note(refusal.message, of: source, 1) }
        return true
    }

    /// Notes messages that were not taken.
    mutating func note(_ sentence: String, of source: String, _ count: Int) {
        problem = ((problem?.count ?? 0) + count, "from \(source): \(sentence)")
    }

    /// How many messages were not taken since the last time, and why the last one was not; nil if all were.
    mutating func takeProblem() -> (count: Int, sentence: String)? { problem.take() }
}
