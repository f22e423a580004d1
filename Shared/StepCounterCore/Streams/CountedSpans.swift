import DequeModule
import Messages
import ServiceKit
import StepDetection

/// The recent times in which samples of a device were counted.
///
/// A span ends when samples are lost, when there is none for more than a second, when steps are dropped, and when the
/// device's wall clock jumps. The memory is bounded: a span that is forgotten before it is stored is reported as not
/// counted.
struct CountedSpans {
    /// The most spans of a device to remember.
    static let limit = 100
    /// From this difference on the device's wall clock has jumped, in nanoseconds.
    private static let largestDrift: Int64 = 1_000_000_000
    /// A shorter time between dropped steps is not counted either, in nanoseconds: a walk has one gap, not one for each
    /// step.
    private static let shortestAfterDrop: Int64 = 10_000_000_000

    private(set) var recent: Deque<CountedSpan>
    /// The uptime of the last sample; nil if it is not known, as after a restart or a loss.
    private var lastUptime: Double?
    /// Whether samples may be missing before the next one.
    private var isInterrupted = false
    /// The number of the first span that is not stored in its present form.
    private var firstUnstored: Int?
    private var lastTaken: Int?

    /// Continues with the stored spans, in order.
    init(_ stored: [CountedSpan] = []) {
        recent = Deque(stored.suffix(Self.limit))
    }

    /// Whether all spans since a date are remembered.
    func isComplete(since date: WallTime) -> Bool {
        guard recent.count == Self.limit, let first = recent.first else { return true }
        return first.number == 1 || first.start <= date
    }

    var hasUnstored: Bool { firstUnstored != nil }

    /// Notes samples that were counted, without a pause between them.
    mutating func count(from first: Double, to last: Double, clock: ClockReading) {
        let (start, end) = (clock.date(atUptime: first), clock.date(atUptime: last))
        defer { (lastUptime, isInterrupted) = (last, false) }
        guard var span = recent.last else { return append(CountedSpan(number: 1, start: start, end: end)) }
        if span.isEmpty {
            (span.start, span.end) = (start, end)
        } else if isContinued(span, by: first, at: start), end >= span.start {
            span.end = end
        } else {
            return append(CountedSpan(number: span.number + 1, start: start, end: end))
        }
        recent[recent.count - 1] = span
        noteChange(of: span.number)
    }

    /// Notes that an unknown number of samples may follow the last one, as when a publisher restarts.
    mutating func interrupt() { isInterrupted = true }

    /// Notes that samples after the last counted one are lost.
    mutating func lose(_ gap: Gap) {
        lastUptime = nil
        // Nothing is known of the time before the first sample.
        guard var span = recent.last else { return }
        if span.isEmpty {
            span.lost = span.lost.addingClamped(gap.count)
            span.reason = gap.reason
            recent[recent.count - 1] = span
            noteChange(of: span.number)
        } else {
            append(
                CountedSpan(
                    number: span.number + 1, start: span.end, end: span.end, lost: gap.count, reason: gap.reason))
        }
    }

    /// Notes that the steps from a date on are dropped: the history must not claim their time.
    mutating func drop(from date: WallTime) {
        lastUptime = nil
        // A bout's first steps may lie in earlier spans, which may be stored already.
        for index in recent.indices.reversed() {
            var span = recent[index]
            let isShort = span.reason == .notWritten && date.distance(from: span.start) < Self.shortestAfterDrop
            span.end = isShort ? span.start : max(span.start, min(span.end, date))
            if span.end == span.start { span.reason = span.reason ?? .notWritten }
            recent[index] = span
            noteChange(of: span.number)
            if span.start <= date { break }
        }
        guard let last = recent.last, !last.isEmpty else { return }
        append(CountedSpan(number: last.number + 1, start: last.end, end: last.end, reason: .notWritten))
    }

    private func isContinued(_ span: CountedSpan, by first: Double, at start: WallTime) -> Bool {
        if isInterrupted { return false }
        let passed = start.distance(from: span.end)
        guard let lastUptime else { return passed.magnitude <= Self.largestDrift.magnitude }
        let uptime = first - lastUptime
        guard (0...StepDetector.longestGap).contains(uptime) else { return false }
        return passed.subtractingClamped(Int64(uptime * 1e9)).magnitude <= Self.largestDrift.magnitude
    }

    private mutating func append(_ span: CountedSpan) {
        if recent.count == Self.limit { recent.removeFirst() }
        recent.append(span)
        noteChange(of: span.number)
    }

    private mutating func noteChange(of number: Int) { firstUnstored = min(firstUnstored ?? number, number) }

    // MARK: Storing

    /// Takes the spans that are not stored in their present form, to store them.
    mutating func takeUnstored() -> [CountedSpan] {
        guard let first = firstUnstored else { return [] }
        (lastTaken, firstUnstored) = (first, nil)
        return recent.filter { $0.number >= first }
    }

    /// Notes that the spans last taken could not be stored.
    mutating func noteUnstored() {
        if let lastTaken { noteChange(of: lastTaken) }
    }
}
