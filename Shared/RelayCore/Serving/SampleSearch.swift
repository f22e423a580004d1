import Messages

/// Finds the message that contains a sample, or the hole where the sample should be.
///
/// Any replica is asked first. A replica may lack the latest messages, or others permanently. If a sample seems to be missing,
/// the search is therefore repeated at the leader, which has all acknowledged messages.
///
/// A pure value: `next` is the question to ask, and `take` takes the reply.
package struct SampleSearch<Content: Sendable>: Sendable {
    package typealias Message = (mark: ServedStream.Mark, content: Content)

    package enum Question: Hashable, Sendable {
        /// Get the last message of the subject from the leader.
        case last
        /// Get the first message of the subject from a number on.
        case message(from: UInt64, atLeader: Bool)
        /// Get the messages of the subject from a number on, as many as one reply contains.
        case messages(from: UInt64)
    }

    package enum Outcome: Sendable {
        /// This message contains the sample.
        case found(Message)
        /// No message contains the sample. This message has the first samples after it.
        case hole(before: Message)
        /// No stored samples are known from this sample on.
        case nothing
        /// The sample is stored, but the server that was asked lacks it.
        case unclear
        /// The leader has no message of the publisher's run.
        case unknownEpoch
    }

    private enum Phase: Sendable {
        /// Finds where the publisher's run ends, if its place is unknown; nil before the stream's last message is known.
        case locating(EpochSearch?)
        /// Binary search.
        case halving(MessageSearch)
        /// A message with the sample may precede the hole, followed by messages with other samples: a message under way when its
        /// relay was killed may be stored after messages of the next relay, and the binary search may miss it. So the last
        /// messages before the hole are checked one by one. This phase finds the first of them.
        case overtaken(MessageSearch, hole: Message)
        /// Checks the messages from there to the hole.
        case walking(from: UInt64, hole: Message)
    }

    /// How many samples before a hole that check begins.
    package static var overlap: Int { 2_000 }

    private let range: SamplesReplay.Range
    /// The numbers of the run's messages, as planned or as located.
    private var place: ClosedRange<UInt64> = 1...1
    private var knownEnd: Int
    private let knownLast: UInt64
    private var isAtLeader = false
    private var hasLocated = false
    private var phase: Phase
    /// The last message that the binary search found.
    private var best: Message?
    package private(set) var outcome: Outcome?

    package init(_ plan: ReplayPlan) {
        (range, knownEnd, knownLast) = (plan.range, plan.knownEnd, plan.knownLast)
        phase = .locating(nil)
        if let place = plan.place { halve(place) }
    }

    private mutating func halve(_ place: ClosedRange<UInt64>) {
        self.place = place
        phase = .halving(MessageSearch(epoch: range.epoch, sample: range.from, in: place))
    }

    /// The next question; nil when there is an outcome.
    package var next: Question? {
        guard outcome == nil else { return nil }
        switch phase {
        case .locating(let search):
            return search.map { $0.next.map { .message(from: $0, atLeader: true) } } ?? .last
        case .halving(let search), .overtaken(let search, _):
            return search.next.map { .message(from: $0, atLeader: isAtLeader) }
        case .walking(let sequence, _): return .messages(from: sequence)
        }
    }

    /// Takes the reply to `next`.
    /// - Parameters:
    ///   - messages: in order; empty if there are none.
    ///   - first: if the leader has no last message, the number of the first message of all subjects that it has.
    package mutating func take(_ messages: [Message], first: UInt64 = 0) {
        switch phase {
        case .locating(let search): locate(search, messages.first?.mark, first: first)
        case .halving(var search):
            guard isOver(&search, messages.first) else { return phase = .halving(search) }
            guard let best, !search.wasToldLess else { return lack() }
            if has(best) { outcome = .found(best) } else { look(before: best) }
        case .overtaken(var search, let hole):
            guard isOver(&search, messages.first) else { return phase = .overtaken(search, hole: hole) }
            guard let best, !search.wasToldLess else { return lack() }
            walk([best], to: hole)
        case .walking(_, let hole):
            walk(messages, to: hole)
        }
    }

    /// Continues the search for the publisher's run.
    private mutating func locate(_ search: EpochSearch?, _ mark: ServedStream.Mark?, first: UInt64) {
        hasLocated = true
        guard var search else {
            // Either the leader lags behind, or everything up to the last message known here was removed.
            guard mark?.sequence ?? 0 >= knownLast || first > knownLast else { return outcome = .unclear }
            guard let mark else { return outcome = .unknownEpoch }
            return note(EpochSearch(range.epoch, last: mark))
        }
        search.take(mark)
        note(search)
    }

    private mutating func note(_ search: EpochSearch) {
        switch search.outcome {
        case .found(let last):
            knownEnd = max(knownEnd, last.place.end)
            best = nil
            halve(1...last.sequence)
        case .nothing: outcome = .unknownEpoch
        case .toldLess: outcome = .unclear
        case nil: phase = .locating(search)
        }
    }

    /// Continues a binary search and returns whether it is over.
    private mutating func isOver(_ search: inout MessageSearch, _ message: Message?) -> Bool {
        search.take(message?.mark)
        if let message, search.found == message.mark { best = message }
        return search.next == nil
    }

    private mutating func look(before hole: Message) {
        best = nil
        let start = max(0, range.from - Self.overlap)
        phase = .overtaken(
            MessageSearch(epoch: range.epoch, sample: start, in: 1...hole.mark.sequence), hole: hole)
    }

    private mutating func walk(_ messages: [Message], to hole: Message) {
        if let found = messages.first(where: has) { return outcome = .found(found) }
        // At least the message after the hole must be present.
        guard let last = messages.last else { return lack() }
        if last.mark.sequence < hole.mark.sequence {
            phase = .walking(from: last.mark.sequence + 1, hole: hole)
        } else if isAtLeader {
            outcome = .hole(before: hole)
        } else {
            askLeader()
        }
    }

    /// Handles a reply that lacks something.
    private mutating func lack() {
        if !isAtLeader {
            askLeader()
        } else if range.from >= knownEnd {
            outcome = .nothing
        } else if !hasLocated {
            // The stream may have dropped the whole run because of its age.
            phase = .locating(nil)
        } else {
            outcome = .unclear
        }
    }

    private mutating func askLeader() {
        (isAtLeader, best) = (true, nil)
        halve(place)
    }

    private func has(_ message: Message) -> Bool {
        let place = message.mark.place
        return place.epoch == range.epoch && place.from <= range.from && range.from < place.end
    }
}
