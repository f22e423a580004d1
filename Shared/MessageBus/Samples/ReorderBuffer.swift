import DequeModule
package import Messages

/// Decides about each batch of a stream, so that samples stay in order: take it, drop a duplicate, or hold it back until the
/// missing samples before it are replayed.
///
/// A pure value without threads or clocks. A `SequenceCursor` counts the samples of each epoch. A new epoch is expected from
/// its sample 0, unless `start` set another one.
package struct ReorderBuffer: Sendable {
    package enum Admission: Hashable, Sendable {
        /// These samples of the batch are new and in order.
        case take(Range<Int>)
        /// All its samples were taken or given up before.
        case duplicate
        /// It was sampled after the end that was set.
        case late
        /// Its turn has not come: pass it to `hold`.
        case wait
        /// Samples before it are missing: request `recovery`, and pass the batch to `hold`.
        case gap
    }

    /// Samples that are being replayed.
    package struct Recovery: Hashable, Sendable {
        package var epoch: String
        /// The samples that are still missing; empty once all were taken or given up.
        package var missing: Range<Int>
    }

    /// A batch that waits for its turn, with copied frames.
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

        package init(_ batch: ReceivedBatch, epoch: String) {
            self.init(
                epoch: epoch, sequence: batch.body.sequence, count: batch.body.count,
                frames: [Array(batch.frame)] + (batch.packed.map { [Array($0)] } ?? []))
        }

        /// Lends the batch in its received form.
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

    /// The upper bound of a sample's sequence, exclusive.
    package static let maximumSequence = ReceivedBatch.maximumSequence

    private struct EpochState {
        let epoch: String
        var cursor: SequenceCursor
        /// The first sample that is not wanted any more.
        var end: Int?
        /// Whether a batch of it was considered; otherwise its batches only wait, or had no room.
        var isMet = false
        /// Whether the epoch has ended at an unknown sample.
        var isEndUnknown = false
        /// Whether samples of it were taken or given up here.
        var hasBegun = false
        /// The end of the last sample that arrived and had no room here.
        var unheld = 0

        /// Whether samples that had no room are still neither taken nor given up, and not being requested.
        var lacksUnheld: Bool { cursor.next < min(unheld, end ?? .max) }

        mutating func advance(to next: Int) {
            cursor.advance(to: next)
            hasBegun = true
        }
    }

    /// A run of samples that is being requested, from its epoch's `cursor.next` on.
    private struct Asked {
        var epoch: Int
        var end: Int
        /// Whether the run may be empty, because it searches for the unknown end of the epoch.
        var isSearch = false
    }

    /// Few: one per start of the publisher. The latest is searched first.
    private var epochs: [EpochState] = []
    private var asked: Asked?
    private var held: Deque<HeldBatch> = []
    /// The size of the waiting batches, in bytes.
    package private(set) var heldBytes = 0
    package var heldCount: Int { held.count }

    package init() {}

    /// Whether a stream can reach these numbers.
    package static func isPossible(sequence: Int, count: Int) -> Bool {
        ReceivedBatch.isPossible(sequence: sequence, count: count)
    }

    /// The next expected sample of an epoch: the number of its samples that were taken or given up. Nil if the epoch was not
    /// met.
    package func next(of epoch: String) -> Int? {
        epochs.last { $0.epoch == epoch && $0.isMet }?.cursor.next
    }

    /// The samples that are being requested; nil if there are none.
    package var recovery: Recovery? {
        asked.map { asked in
            let next = epochs[asked.epoch].cursor.next
            return Recovery(epoch: epochs[asked.epoch].epoch, missing: next..<max(next, asked.end))
        }
    }

    /// Whether `request` still starts at the next missing sample. Everything may have changed while its reply was awaited.
    package func isMissing(_ request: SamplesReplay) -> Bool {
        recovery.map { $0.epoch == request.epoch && $0.missing.lowerBound == request.from } ?? false
    }

    /// Whether the current request searches for the unknown end of an epoch.
    package var isSearchingEnd: Bool { asked?.isSearch ?? false }

    /// Sets the first wanted sample of a new epoch.
    /// - Parameter hasBegun: whether samples before it were taken or given up.
    package mutating func start(epoch: String, at sequence: Int, hasBegun: Bool = false) {
        let index = meet(epoch)
        epochs[index].cursor.advance(to: Self.possible(sequence))
        epochs[index].hasBegun = hasBegun
    }

    /// Sets the end of the wanted samples in an epoch. Epochs that were not met yet are not wanted.
    package mutating func end(epoch: String, before sequence: Int) {
        let index = meet(epoch)
        // Everything before it is wanted, even if it only waits.
        for earlier in epochs[..<index].indices { epochs[earlier].isMet = true }
        let end = Self.possible(sequence)
        epochs[index].end = end
        epochs[index].isEndUnknown = false
        for later in epochs[(index + 1)...].indices where !epochs[later].isMet { epochs[later].isEndUnknown = false }
        if let asked, asked.epoch == index { self.asked = Asked(epoch: index, end: min(asked.end, end)) }
    }

    /// Marks an epoch as ended at an unknown sample. Samples after its last known one are requested before anything of a later
    /// epoch is taken.
    /// - Returns: false if it is too late for that.
    package mutating func searchEnd(of epoch: String) -> Bool {
        if hasEnd, !epochs.contains(where: { $0.epoch == epoch && $0.isMet }) { return false }
        // The epoch may have waiting batches only.
        let index = index(of: epoch)
        guard epochs[index].end == nil, !epochs[(index + 1)...].contains(where: \.hasBegun) else { return false }
        epochs[index].isEndUnknown = true
        // The search goes before a request for a later epoch.
        if let asked, asked.epoch > index { _ = askForUnknownEnd(before: asked.epoch) }
        return true
    }

    /// Ends the search for the end of an epoch: it has no more samples, or they are lost.
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

    /// Decides about an arriving batch. `isPossible` must be true for its numbers.
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

    /// Records the position that a publisher reports for an epoch.
    /// - Returns: whether this revealed missing samples.
    package mutating func expect(epoch: String, upTo nextSequence: Int) -> Bool {
        guard asked == nil else { return false }
        let index = meet(epoch)
        if askForUnknownEnd(before: index) { return true }
        let end = min(Self.possible(nextSequence), epochs[index].end ?? .max)
        guard end > epochs[index].cursor.next else { return false }
        asked = Asked(epoch: index, end: end)
        return true
    }

    /// Treats samples before the end that have not arrived by now as missing.
    /// - Returns: whether a request must be made: samples are missing, and none were being requested.
    package mutating func expectEnd() -> Bool {
        guard asked == nil else { return false }
        if askForUnknownEnd(before: epochs.count) { return true }
        guard let index = firstIncomplete, let end = epochs[index].end else { return false }
        asked = Asked(epoch: index, end: end)
        return true
    }

    /// Holds a batch back until its turn.
    package mutating func hold(_ batch: HeldBatch) {
        // Registers the epoch, to keep epochs in order of arrival.
        _ = index(of: batch.epoch)
        held.append(batch)
        heldBytes += batch.byteCount
    }

    /// Records a batch that had no room: everything up to a given sample of its epoch is requested when its turn comes, before
    /// anything of a later epoch.
    package mutating func noteUnheld(epoch: String, upTo sequence: Int) {
        let index = index(of: epoch)
        epochs[index].unheld = max(epochs[index].unheld, Self.possible(sequence))
    }

    /// Lends each waiting batch, in order.
    package func forEachHeld(_ body: (HeldBatch) -> Void) { held.forEach(body) }

    /// The wanted samples of a replayed batch, which now count as taken; nil if it does not contain the next missing one.
    package mutating func admitRecovered(epoch: String, sequence: Int, count: Int) -> Range<Int>? {
        guard let recovery, let asked, recovery.epoch == epoch else { return nil }
        let next = recovery.missing.lowerBound
        let end = min(sequence + count, recovery.missing.upperBound)
        guard sequence <= next, end > next else { return nil }
        epochs[asked.epoch].advance(to: end)
        return (next - sequence)..<(end - sequence)
    }

    /// The first waiting batch that has samples after the requested ones, in the same epoch, and the index of the first such
    /// sample: the batch may begin with requested ones.
    package var firstBehind: (batch: HeldBatch, row: Int)? {
        guard let recovery else { return nil }
        let end = recovery.missing.upperBound
        let batch = held.first { $0.epoch == recovery.epoch && $0.sequence + $0.count > end }
        return batch.map { ($0, max(0, end - $0.sequence)) }
    }

    /// Gives up requested samples, from the next expected one on.
    /// - Parameter sequence: the first sample that is not given up; nil to give up all.
    /// - Returns: the lost samples, if there are any; their number is 0 (unknown) after a search for an epoch's end.
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

    /// Takes the next waiting batch, once nothing before it is missing, with the rows that are new: an empty range at its end
    /// for a duplicate, at its start for a late batch. If it follows another gap, samples without room, or an unknown end,
    /// those are requested next. If no batch waits, the recovery is over.
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

    /// Whether an end was set. Epochs that are met later are not taken.
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
