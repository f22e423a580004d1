import DequeModule
package import Messages

/// Decides what becomes of each batch of a stream: taken now, known already, or held back while the samples before
/// it are asked for again, so that samples stay in order.
///
/// A pure value without threads or clocks. The samples of an epoch are counted by a `SequenceCursor`; an epoch that is
/// met for the first time is expected from its sample 0, unless `start` said otherwise.
package struct ReorderBuffer: Sendable {
    /// What becomes of a batch.
    package enum Admission: Hashable, Sendable {
        /// These of its samples are new and in order: use them.
        case take(Range<Int>)
        /// All of it was had before.
        case duplicate
        /// It was sampled after the end that was set.
        case late
        /// Its turn has not come: give it to `hold`.
        case wait
        /// Samples before it are missing: ask for `recovery`, and give it to `hold`.
        case gap
    }

    /// Samples that are being asked for again.
    package struct Recovery: Hashable, Sendable {
        /// Their epoch.
        package var epoch: String
        /// What of them is still missing; empty once all were taken or given up.
        package var missing: Range<Int>
    }

    /// A batch that waits for its turn, with its frames copied.
    package struct HeldBatch: Hashable, Sendable {
        package var epoch: String
        package var sequence: Int
        package var count: Int
        package var frames: [[UInt8]]

        package init(epoch: String, sequence: Int, count: Int, frames: [[UInt8]]) {
            self.epoch = epoch
            self.sequence = sequence
            self.count = count
            self.frames = frames
        }

        /// Copies a batch.
        package init(_ batch: ReceivedBatch, epoch: String) {
            self.init(
                epoch: epoch, sequence: batch.body.sequence, count: batch.body.count,
                frames: [Array(batch.frame)] + (batch.packed.map { [Array($0)] } ?? []))
        }

        /// Lends the batch as it arrived.
        package func withBatch<Result>(_ body: (ReceivedBatch) throws -> Result) throws -> Result {
            try frames[0].withUnsafeBytes { frame in
                let found = try SampleBody(frame)
                return try frames.dropFirst().first.withOptionalBytes { packed in
                    try body(ReceivedBatch(found, frame, packed: packed))
                }
            }
        }

        fileprivate var byteCount: Int { frames.reduce(0) { $0 + $1.count } }
    }

    /// The end of the last sample that can be counted.
    package static let maximumSequence = ReceivedBatch.maximumSequence

    private struct EpochState {
        let epoch: String
        var cursor: SequenceCursor
        /// The first sample that is not wanted any more.
        var end: Int?
        /// Whether it was met: otherwise batches of it only wait, or had no room.
        var isMet = false
        /// Whether it has ended at a sample that is not known.
        var isEndUnknown = false
        /// Whether samples of it were taken or given up here.
        var hasBegun = false
        /// Behind the last sample that came and could not wait here.
        var unheld = 0

        /// Whether samples that came are neither taken nor given up, and not being asked for.
        var lacksUnheld: Bool { cursor.next < min(unheld, end ?? .max) }

        mutating func advance(to next: Int) {
            cursor.advance(to: next)
            hasBegun = true
        }
    }

    /// A run of samples that is being asked for: from its epoch's next one on.
    private struct Asked {
        var epoch: Int
        var end: Int
        /// Whether there may be none, because the unknown end of the epoch is searched for.
        var isSearch = false
    }

    /// Few: one per start of the publisher. The latest is looked at first.
    private var epochs: [EpochState] = []
    private var asked: Asked?
    private var held: Deque<HeldBatch> = []
    /// Bytes of the batches that wait.
    package private(set) var heldBytes = 0
    /// How many batches wait.
    package var heldCount: Int { held.count }

    /// Nothing has arrived.
    package init() {}

    /// Whether a batch's numbers are ones that a stream can come to.
    package static func isPossible(sequence: Int, count: Int) -> Bool {
        ReceivedBatch.isPossible(sequence: sequence, count: count)
    }

    /// The sample of an epoch that is expected next: how many of it were taken or given up.
    package func next(of epoch: String) -> Int? {
        epochs.last { $0.epoch == epoch && $0.isMet }?.cursor.next
    }

    /// What is being asked for, if anything is.
    package var recovery: Recovery? {
        asked.map { asked in
            let next = epochs[asked.epoch].cursor.next
            return Recovery(epoch: epochs[asked.epoch].epoch, missing: next..<max(next, asked.end))
        }
    }

    /// Whether a request asks for what is missing next. While its answer was awaited, everything may have changed.
    package func isMissing(_ request: SamplesReplay) -> Bool {
        recovery.map { $0.epoch == request.epoch && $0.missing.lowerBound == request.from } ?? false
    }

    /// Whether what is being asked for is the unknown end of an epoch.
    package var isSearchingEnd: Bool { asked?.isSearch ?? false }

    /// Says that a given sample of an epoch that nothing was said of before is the first one wanted.
    /// - Parameter hasBegun: whether samples before it were taken or given up.
    package mutating func start(epoch: String, at sequence: Int, hasBegun: Bool = false) {
        let index = meet(epoch)
        epochs[index].cursor.advance(to: Self.possible(sequence))
        epochs[index].hasBegun = hasBegun
    }

    /// Says that nothing is wanted from a given sample of an epoch on, and nothing of epochs which were not met yet.
    package mutating func end(epoch: String, before sequence: Int) {
        let index = meet(epoch)
        // What came before it is wanted, also where it only waits.
        for earlier in epochs[..<index].indices { epochs[earlier].isMet = true }
        let end = Self.possible(sequence)
        epochs[index].end = end
        epochs[index].isEndUnknown = false
        for later in epochs[(index + 1)...].indices where !epochs[later].isMet { epochs[later].isEndUnknown = false }
        if let asked, asked.epoch == index { self.asked = Asked(epoch: index, end: min(asked.end, end)) }
    }

    /// Says that an epoch has ended at a sample that is not known. Samples behind its last one are asked for before anything of a
    /// later epoch is taken.
    /// - Returns: false if it is too late for that.
    package mutating func searchEnd(of epoch: String) -> Bool {
        if hasEnd, !epochs.contains(where: { $0.epoch == epoch && $0.isMet }) { return false }
        // It may only wait.
        let index = index(of: epoch)
        guard epochs[index].end == nil, !epochs[(index + 1)...].contains(where: \.hasBegun) else { return false }
        epochs[index].isEndUnknown = true
        // What is being asked for of a later epoch comes after that.
        if let asked, asked.epoch > index { _ = askForUnknownEnd(before: asked.epoch) }
        return true
    }

    /// Ends the search for the end of an epoch: it has no more samples, or they can't be recovered.
    package mutating func finishSearch() {
        guard let asked, asked.isSearch else { return }
        epochs[asked.epoch].isEndUnknown = false
        self.asked = nil
    }

    private mutating func askForUnknownEnd(before index: Int) -> Bool {
        guard let unknown = epochs[..<index].firstIndex(where: \.isEndUnknown) else { return false }
        epochs[unknown].isMet = true
        asked = Asked(epoch: unknown, end: Self.maximumSequence, isSearch: true)
        return true
    }

    /// Whether every sample up to the end that was set was taken or given up.
    package var isComplete: Bool {
        asked == nil && held.isEmpty && firstIncomplete == nil && !epochs.contains(where: \.isEndUnknown)
    }

    /// Decides about a batch as it arrives. Its numbers must be possible.
    package mutating func admit(epoch: String, sequence: Int, count: Int) -> Admission {
        if asked != nil { return .wait }
        if hasEnd, next(of: epoch) == nil { return .late }
        let index = meet(epoch)
        let count = epochs[index].end.map { min(count, $0 - sequence) } ?? count
        guard count > 0 else { return .late }
        if askForUnknownEnd(before: index) { return .gap }
        switch epochs[index].cursor.arrival(of: sequence, count: count) {
        case .next(let skip):
            epochs[index].advance(to: sequence + count)
            return .take(skip..<count)
        case .duplicate:
            return .duplicate
        case .gap(let missing):
            asked = Asked(epoch: index, end: missing.upperBound)
            return .gap
        }
    }

    /// Notes that an epoch has come as far as its publisher says.
    /// - Returns: whether samples were found missing that nobody knew of.
    package mutating func expect(epoch: String, upTo nextSequence: Int) -> Bool {
        guard asked == nil else { return false }
        let index = meet(epoch)
        if askForUnknownEnd(before: index) { return true }
        let end = min(Self.possible(nextSequence), epochs[index].end ?? .max)
        guard end > epochs[index].cursor.next else { return false }
        asked = Asked(epoch: index, end: end)
        return true
    }

    /// Notes that what has not come by now of the samples before the end is missing.
    /// - Returns: whether something is, and nothing was being asked for.
    package mutating func expectEnd() -> Bool {
        guard asked == nil else { return false }
        if askForUnknownEnd(before: epochs.count) { return true }
        guard let index = firstIncomplete, let end = epochs[index].end else { return false }
        asked = Asked(epoch: index, end: end)
        return true
    }

    /// Keeps a batch until its turn.
    package mutating func hold(_ batch: HeldBatch) {
        // So that epochs have the order in which they came.
        _ = index(of: batch.epoch)
        held.append(batch)
        heldBytes += batch.byteCount
    }

    /// Notes that a batch came for which there is no room: up to a given sample of its epoch, everything is asked for when its turn
    /// comes, before anything of a later epoch.
    package mutating func noteUnheld(epoch: String, upTo sequence: Int) {
        let index = index(of: epoch)
        epochs[index].unheld = max(epochs[index].unheld, Self.possible(sequence))
    }

    /// Lends each batch that waits, in order.
    package func forEachHeld(_ body: (HeldBatch) -> Void) { held.forEach(body) }

    /// Which samples of a replayed batch are wanted: they are taken, and nothing before them is missing.
    package mutating func admitRecovered(epoch: String, sequence: Int, count: Int) -> Range<Int>? {
        guard let recovery, let asked, recovery.epoch == epoch else { return nil }
        let next = recovery.missing.lowerBound
        let end = min(sequence + count, recovery.missing.upperBound)
        guard sequence <= next, end > next else { return nil }
        epochs[asked.epoch].advance(to: end)
        return (next - sequence)..<(end - sequence)
    }

    /// The first batch that waits and has a sample behind what is being asked for, of the same epoch; and which of its samples that
    /// is, for it may begin with some that are being asked for.
    package var firstBehind: (batch: HeldBatch, row: Int)? {
        guard let recovery else { return nil }
        let end = recovery.missing.upperBound
        let batch = held.first { $0.epoch == recovery.epoch && $0.sequence + $0.count > end }
        return batch.map { ($0, max(0, end - $0.sequence)) }
    }

    /// Gives up samples that are being asked for, from the next expected one on.
    /// - Parameter sequence: the first sample that is not given up; nil for all of them.
    /// - Returns: what is lost, if anything is: an unknown number, if the end of an epoch was searched for.
    package mutating func giveUp(before sequence: Int? = nil, reason: Gap.Reason) -> Gap? {
        guard let recovery, let asked else { return nil }
        let from = recovery.missing.lowerBound
        if asked.isSearch, sequence == nil {
            finishSearch()
            return Gap(epoch: recovery.epoch, from: from, count: 0, reason: reason)
        }
        let end = min(sequence ?? .max, recovery.missing.upperBound)
        guard end > from else { return nil }
        epochs[asked.epoch].advance(to: end)
        return Gap(epoch: recovery.epoch, from: from, count: end - from, reason: reason)
    }

    /// The next of the batches that wait, once nothing before it is missing, with those of its samples that are new: none at
    /// its end if it is a duplicate, none at its beginning if it is late. If it meets another gap, or samples before it had no room
    /// here, or may be there unknown, they are missing next. If no batch waits, the recovery is over.
    package mutating func takeHeld() -> (batch: HeldBatch, rows: Range<Int>)? {
        if recovery?.missing.isEmpty == true { asked = nil }
        guard asked == nil else { return nil }
        let turn = held.first.map { index(of: $0.epoch) } ?? epochs.count
        let hasEnd = hasEnd
        let unheld = epochs[..<turn].firstIndex { $0.lacksUnheld && ($0.isMet || !hasEnd) }
        if askForUnknownEnd(before: unheld.map { $0 + 1 } ?? turn) { return nil }
        if let unheld {
            epochs[unheld].isMet = true
            asked = Asked(epoch: unheld, end: min(epochs[unheld].unheld, epochs[unheld].end ?? .max))
            return nil
        }
        guard let batch = held.first else { return nil }
        let rows: Range<Int>
        switch admit(epoch: batch.epoch, sequence: batch.sequence, count: batch.count) {
        case .take(let new): rows = new
        case .duplicate: rows = batch.count..<batch.count
        case .late: rows = 0..<0
        case .wait, .gap: return nil
        }
        held.removeFirst()
        heldBytes -= batch.byteCount
        return (batch, rows)
    }

    private var firstIncomplete: Int? {
        epochs.firstIndex { state in state.end.map { state.cursor.next < $0 } ?? false }
    }

    /// Whether an end was set: no run is taken that is met after that.
    package var hasEnd: Bool { epochs.contains { $0.end != nil } }

    private static func possible(_ sequence: Int) -> Int { min(max(sequence, 0), maximumSequence) }

    private mutating func meet(_ epoch: String) -> Int {
        let index = index(of: epoch)
        epochs[index].isMet = true
        return index
    }

    private mutating func index(of epoch: String) -> Int {
        if let index = epochs.lastIndex(where: { $0.epoch == epoch }) { return index }
        epochs.append(EpochState(epoch: epoch, cursor: SequenceCursor(next: 0)))
        return epochs.count - 1
    }
}
