/// Datagrams' messages that are not answered yet, and counts of lost and refused ones.
struct WaitingDatagrams {
    /// Which address sends for which devices.
    var sources = DatagramSources()
    /// Datagrams dropped by the kernel.
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

    /// Records the outcome of a message.
    /// - Returns: whether it came in a datagram, so that no sender waits for the answer.
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

    /// The number of messages not taken since the last call, and the reason for the last one; nil if there were none.
    mutating func takeProblem() -> (count: Int, sentence: String)? { problem.take() }
}
