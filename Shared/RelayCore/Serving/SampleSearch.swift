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
        /// Nothing is there from it on, or whoever was asked does not know it.
        case nothing
    }

    private enum Phase: Sendable {
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

    private let plan: ReplayPlan
    private var isAtLeader = false
    private var phase: Phase
    /// The message that the search by halves found last.
    private var best: Message?
    package private(set) var outcome: Outcome?

    package init(_ plan: ReplayPlan) {
        self.plan = plan
        phase = .halving(Self.halving(plan))
    }

    private static func halving(_ plan: ReplayPlan) -> MessageSearch {
        MessageSearch(epoch: plan.range.epoch, sample: plan.range.from, in: plan.place)
    }

    /// What to ask; nil when there is an outcome.
    package var next: Question? {
        guard outcome == nil else { return nil }
        switch phase {
        case .halving(let search), .overtaken(let search, _):
            return search.next.map { .message(from: $0, atLeader: isAtLeader) }
        case .walking(let sequence, _): return .messages(from: sequence)
        }
    }

    /// Takes the answer to what `next` asks.
    /// - Parameter messages: in their order; empty if there are none.
    package mutating func take(_ messages: [Message]) {
        switch phase {
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

    /// Goes on with a search by halves.
    private mutating func isOver(_ search: inout MessageSearch, _ message: Message?) -> Bool {
        search.take(message?.mark)
        if let message, search.found == message.mark { best = message }
        return search.next == nil
    }

    private mutating func look(before hole: Message) {
        best = nil
        let start = max(0, plan.range.from - Self.overlap)
        phase = .overtaken(
            MessageSearch(epoch: plan.range.epoch, sample: start, in: 1...hole.mark.sequence), hole: hole)
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
        // What was not published here yet need not be there.
        if isAtLeader || plan.range.from >= plan.knownEnd { outcome = .nothing } else { askLeader() }
    }

    private mutating func askLeader() {
        (isAtLeader, best) = (true, nil)
        phase = .halving(Self.halving(plan))
    }

    private func has(_ message: Message) -> Bool {
        let place = message.mark.place
        return place.epoch == plan.range.epoch && place.from <= plan.range.from && plan.range.from < place.end
    }
}
