import Messages
import Recording

/// The plan for a hole, given an export's samples around it.
struct HolePlan {
    struct Row {
        /// Nanoseconds of the publisher's clock.
        var uptime: Int64
        var key: SampleKey
        /// Whether it was taken in a pause, so that the recorder would have left it out.
        var isPaused: Bool
    }

    /// The gaps that are filled, each with its parts.
    private(set) var filled: [SessionRecord.FilledGap] = []
    /// The rows for the gaps, in order, including those of pauses.
    private(set) var rows: Range<Int> = 0..<0
    /// The number of samples filled in.
    private(set) var samples = 0
    /// A note for people.
    private(set) var note: String?

    /// How much the times of a sample may differ between two epochs, in nanoseconds: each epoch compares clocks again.
    static let epochSlack: UInt64 = 100_000_000

    private let hole: GapHole
    private let all: [Row]

    /// - Parameters:
    ///   - rows: the export's rows in the order of their times: those around the hole, and the samples next to it.
    ///   - first, last: the times of the stream's first and last sample in the export.
    ///   - interval: the approximate nanoseconds between two samples; for a hole that is open at one end.
    init(_ hole: GapHole, rows all: [Row], from first: Int64, to last: Int64, interval: Int64?) {
        self.hole = hole
        self.all = all
        if let problem = hole.problem {
            note = problem
            return
        }
        guard let origin = hole.origin else { return }
        guard first <= last else {
            note = "the export has no samples there"
            return
        }
        let slack = OffsetSearch.slack
        let former = place(of: hole.formerEpoch, origin)
        let next = place(of: hole.nextEpoch, origin)
        let lowest = hole.before.map { $0.uptime + slack } ?? former ?? hole.earliest.addingClamped(origin)
        let highest = hole.after.map { $0.uptime - slack } ?? next ?? hole.latest.addingClamped(origin)
        // Whether the export extends to the samples next to the hole.
        let reachesBefore = first <= lowest
        let reachesAfter = last >= highest
        if reachesBefore && hole.formerEpoch != nil && former == nil
            || reachesAfter && hole.nextEpoch != nil && next == nil
        {
            note = "the samples next to it differ in the export"
            return
        }
        for neighbour in [hole.before, hole.after] {
            guard let neighbour,
                (first.subtractingClamped(slack)...last.addingClamped(slack)).contains(neighbour.uptime)
            else { continue }
            let isThere = all.contains {
                $0.key == neighbour.key && ($0.uptime - neighbour.uptime).magnitude <= slack.magnitude
            }
            guard isThere else {
                note = "the samples next to it differ in the export"
                return
            }
        }
        let start = all.firstIndex { $0.uptime > lowest } ?? all.endIndex
        var inner = start..<(all[start...].firstIndex { $0.uptime >= highest } ?? all.endIndex)
        // At an open end, samples after the last number do not belong to the session if the number is exact.
        if hole.count > 0, inner.count > hole.count, !hole.gaps.contains(where: Self.isEstimate) {
            if hole.after == nil {
                inner = inner.prefix(hole.count)
            } else if hole.before == nil {
                inner = inner.suffix(hole.count)
            }
        }
        guard !inner.isEmpty else {
            note = "the export has no samples there"
            return
        }
        fill(inner, reachesBefore: reachesBefore, reachesAfter: reachesAfter, interval: interval)
    }

    /// The row of a sample of another epoch, whose time differs a little.
    private func place(of neighbour: GapHole.Neighbour?, _ origin: Int64) -> Int64? {
        guard let neighbour else { return nil }
        let expected = neighbour.timestamp.addingClamped(origin)
        return all.filter { $0.key == neighbour.key && ($0.uptime - expected).magnitude <= Self.epochSlack }
            .min { ($0.uptime - expected).magnitude < ($1.uptime - expected).magnitude }?.uptime
    }

    /// Whether the number of missing samples is only estimated, or unknown.
    private static func isEstimate(_ gap: Gap) -> Bool { gap.reason == .estimated || gap.count == 0 }

    private mutating func fill(
        _ inner: Range<Int>, reachesBefore: Bool, reachesAfter: Bool, interval: Int64?
    ) {
        let count = inner.count
        let missing = hole.count
        let flexible = hole.gaps.lastIndex(where: Self.isEstimate)
        // If a gap has an unknown length, the number of missing samples proves nothing.
        if count == missing, !hole.gaps.contains(where: { $0.count == 0 }) {
            take(inner, hole.gaps.map { [(0..<$0.count, $0.count)] })
        } else if reachesBefore, reachesAfter, let flexible {
            // The export has all samples that the phone took, so the estimate was wrong.
            var rest = count - (missing - hole.gaps[flexible].count)
            guard rest >= 0 else {
                note =
                    "the export has \(count) samples where \(missing - hole.gaps[flexible].count) or more are missing"
                return
            }
            if count != missing { note = "the export has \(count) samples where \(missing) were estimated" }
            take(
                inner,
                hole.gaps.enumerated().map { index, gap in
                    guard index == flexible else { return [(0..<gap.count, gap.count)] }
                    defer { rest = 0 }
                    return [(0..<gap.count, rest)]
                })
        } else if count >= missing, let flexible {
            // The export begins or ends in the hole, and still has all samples that were estimated, or more.
            let surplus = count - missing
            note =
                "the export has only a part of it, with \(count) samples"
                + (surplus > 0 ? " where \(missing) were estimated" : "")
            take(
                inner,
                hole.gaps.enumerated().map { index, gap in
                    let samples = gap.count + (index == flexible ? surplus : 0)
                    let before = index == 0 && !reachesBefore
                    let after = index == hole.gaps.count - 1 && !reachesAfter
                    var parts: [(numbers: Range<Int>, samples: Int?)] = []
                    if before { parts.append((0..<0, nil)) }
                    // A gap of unknown length that gets no sample here stays as it is.
                    if samples > 0 || !before && !after { parts.append((0..<gap.count, samples)) }
                    if after { parts.append((gap.count..<gap.count, nil)) }
                    return parts
                })
        } else if count > missing {
            note = "the export has \(count) samples where \(missing) are missing"
        } else {
            note = "the export has \(count) of \(missing) samples"
            place(inner, interval: interval)
        }
    }

    /// Assigns to each sample the free number closest to its time.
    private mutating func place(_ inner: Range<Int>, interval: Int64?) {
        let missing = hole.count
        let numbers = inner.map { index -> Double in
            let time = all[index].uptime
            if let one = hole.before?.uptime, let other = hole.after?.uptime, other > one {
                return Double(time - one) / Double(other - one) * Double(missing + 1) - 1
            }
            guard let interval, interval > 0 else { return 0 }
            if let one = hole.before?.uptime { return Double(time - one) / Double(interval) - 1 }
            if let other = hole.after?.uptime { return Double(missing) - Double(other - time) / Double(interval) }
            return 0
        }
        var slots: [Int] = []
        for (index, number) in numbers.enumerated() {
            let least = (slots.last ?? -1) + 1
            // Leave enough numbers for the remaining samples.
            let most = missing - (numbers.count - index)
            slots.append(min(most, max(least, Int(max(0, min(Double(missing), number)).rounded()))))
        }
        var rest = slots[...]
        var start = 0
        take(
            inner,
            hole.gaps.map { gap in
                defer { start += gap.count }
                var parts: [(numbers: Range<Int>, samples: Int?)] = []
                var next = 0
                while let slot = rest.first, slot < start + gap.count {
                    let first = slot - start
                    var end = first
                    while rest.first == start + end, end < gap.count {
                        rest.removeFirst()
                        end += 1
                    }
                    if first > next { parts.append((next..<first, nil)) }
                    parts.append((first..<end, end - first))
                    next = end
                }
                if next < gap.count { parts.append((next..<gap.count, nil)) }
                return parts
            })
    }

    /// Records the parts of the gaps.
    /// - Parameter parts: for each gap, the numbers of its parts relative to its first one, and the number of rows in each part;
    ///   nil for a part that stays a gap.
    private mutating func take(_ inner: Range<Int>, _ parts: [[(numbers: Range<Int>, samples: Int?)]]) {
        rows = inner
        var next = inner.lowerBound
        for (gap, parts) in zip(hole.gaps, parts) {
            guard parts.contains(where: { $0.samples != nil }) else { continue }
            var filled = SessionRecord.FilledGap(gap: gap, parts: [])
            var uptime: Double?
            for (numbers, count) in parts {
                var part = SessionRecord.FilledPart(
                    from: gap.from + numbers.lowerBound, count: numbers.count, samples: nil, afterUptime: uptime)
                if let count {
                    let own = all[next..<(next + count)].filter { !$0.isPaused }
                    next += count
                    part.samples = own.count
                    part.afterUptime = nil
                    samples += own.count
                    if let last = own.last { uptime = Double(last.uptime) / 1e9 }
                }
                filled.parts.append(part)
            }
            self.filled.append(filled)
        }
    }
}
