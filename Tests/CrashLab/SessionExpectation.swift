/// The laboratory's requests for a session, with their times: the oracle compares the session's logs with them.
struct SessionExpectation: Sendable {
    /// A change that affects samples. It took effect somewhere between request and answer.
    struct Change: Sendable {
        enum Kind: Hashable, Sendable {
            case pause, resume
            /// Of one stream only, independently of the session's pauses.
            case pauseStream(String), resumeStream(String)
            /// A move to a step path.
            case step(String)
            /// An annotation with a unique label.
            case annotation(String)
        }

        let kind: Kind
        let asked: Instant
        var answered: Instant
        /// Whether it is unknown if the change took effect, because its answer was lost.
        var isDoubtful = false
    }

    /// In seconds: the programs read their clocks at different moments, and a batch may wait until it is full.
    static let tolerance = 0.1

    let session: String
    /// The requested streams: `phone/accelerometer`, or `left-wrist/` for all of a device.
    let streams: [String]
    /// `json`, `csv` or `tsv`.
    let format: String
    /// The step path at the start.
    let stepPath: String
    let startAsked: Instant
    /// From here on each sample belongs to the session.
    var startAnswered: Instant
    /// Up to here each sample belongs to the session: the first request for the end, or an earlier time if less is promised.
    var stopAsked: Instant
    var changes: [Change] = []
    /// Whether explained losses are allowed.
    var mayLose = false
    /// Whether the last file may still be open because the session was interrupted.
    var isCutOff = false

    /// Whether a sample of this time must not be in the log, may be, or must be.
    enum Presence { case absent, either, present }

    /// What is expected of a stream's sample taken at a time, in seconds since 1970.
    func presence(at time: Double, in stream: String) -> Presence {
        let ofAll = presence(at: time, between: .pause, and: .resume)
        let ofOne = presence(at: time, between: .pauseStream(stream), and: .resumeStream(stream))
        if ofAll == .absent || ofOne == .absent { return .absent }
        return ofAll == .either ? .either : ofOne
    }

    private func presence(at time: Double, between pause: Change.Kind, and resume: Change.Kind) -> Presence {
        var isPaused = false
        for change in changes where change.kind == pause || change.kind == resume {
            if time < change.asked.wall - Self.tolerance { break }
            if time <= change.answered.wall + Self.tolerance { return .either }
            if change.isDoubtful { return .either }
            isPaused = change.kind == pause
        }
        return isPaused ? .absent : .present
    }

    /// Whether a sample of this time may have this step path.
    func mayHave(_ path: String, at time: Double) -> Bool {
        var possible: Set<String> = [stepPath]
        for change in changes {
            guard case .step(let step) = change.kind else { continue }
            if time < change.asked.wall - Self.tolerance { break }
            if time > change.answered.wall + Self.tolerance, !change.isDoubtful { possible = [] }
            possible.insert(step)
        }
        return possible.contains(path)
    }

    /// The faults in the labels of a session's annotations: each answered one must be there once, and no others except those
    /// whose answers were lost.
    func faults(in labels: [String]) -> [String] {
        var faults: [String] = []
        var unasked = Set(labels)
        for change in changes {
            guard case .annotation(let label) = change.kind else { continue }
            unasked.remove(label)
            let count = labels.count { $0 == label }
            if count > 1 { faults.append("annotation \(label) is there \(count) times") }
            if count == 0, !change.isDoubtful { faults.append("annotation \(label) was answered, and is gone") }
        }
        return faults + unasked.sorted().map { "nobody asked for annotation \($0)" }
    }
}
