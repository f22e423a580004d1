import Messages

/// Finds the message that has a sample, or the hole where it should be.
///
/// Any replica is asked first. It may lack messages: the latest ones, or some for good. So it is never believed that a sample is not
/// there: then everything is asked again, of the leader, which has all that was acknowledged.
///
/// A pure value: `next` says what to ask, and `take` takes the answer.
package struct SampleSearch<Content: Sendable>: Sendable {
    package typealias Message = (mark: ServedStream.Mark, content: Content)

    package enum Question: Hashable, Sendable {
        /// For the last message of the subject, at the leader.
        case last
        /// For the first message of the subject from a number on.
        case message(from: UInt64, atLeader: Bool)
        /// For the messages of the subject from a number on, as many as come in one answer.
        case messages(from: UInt64)
    }

    package enum Outcome: Sendable {
        /// This message has it.
        case found(Message)
        /// No message has it: this one has the first samples behind it.
        case hole(before: Message)
        /// Nothing is known to be stored from it on.
        case nothing
        /// It is stored, and whoever was asked lacks it.
        case unclear
        /// The leader has nothing of the publisher's run.
        case unknownEpoch
    }

    private enum Phase: Sendable {
        /// Where the publisher's run ends, if it is not known where it stands; nil before the stream's last message is known.
        case locating(EpochSearch?)
        /// By halves.
        case halving(MessageSearch)
        /// There may be a message with the sample before a hole that stands in front of others with samples of its own: one that was
        /// under way when its relay was killed may be stored behind what the next relay sent, and the search by halves may meet it
        /// alone. So the last messages before the hole are looked at one by one: this finds the first of them,
        case overtaken(MessageSearch, hole: Message)
        /// and this goes on to the hole.
        case walking(from: UInt64, hole: Message)
    }

    /// So many samples before a hole the walk begins.
    package static var overlap: Int { 2_000 }

    private let range: SamplesReplay.Range
    /// Where the sample stands, and what is stored for certain: as planned, or as it was found.
    private var place: ClosedRange<UInt64> = 1...1
    private var knownEnd: Int
    private let knownLast: UInt64
    private var isAtLeader = false
    private var hasLocated = false
    private var phase: Phase
    /// The message that the search by halves found last.
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

    /// What to ask; nil when there is an outcome.
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

    /// Takes the answer to what `next` asks.
    /// - Parameter messages: in their order; empty if there are none.
    package mutating func take(_ messages: [Message]) {
        switch phase {
        case .locating(let search): locate(search, messages.first?.mark)
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

    /// Goes on with the search for the publisher's run.
    private mutating func locate(_ search: EpochSearch?, _ mark: ServedStream.Mark?) {
        hasLocated = true
        guard var search else {
            guard mark?.sequence ?? 0 >= knownLast else { return outcome = .unclear }
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

    /// Goes on with a search by halves.
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
        // The hole's message at least is there.
        guard let last = messages.last else { return lack() }
        if last.mark.sequence < hole.mark.sequence {
            phase = .walking(from: last.mark.sequence + 1, hole: hole)
        } else if isAtLeader {
            outcome = .hole(before: hole)
        } else {
            askLeader()
        }
    }

    /// Whoever was asked lacks something.
    private mutating func lack() {
        if !isAtLeader {
            askLeader()
        } else if range.from >= knownEnd {
            outcome = .nothing
        } else if !hasLocated {
            // The stream may have dropped what is too old, with the whole run.
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
