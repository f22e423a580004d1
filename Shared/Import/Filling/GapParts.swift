import Messages
import Recording

/// The parts of a gap while samples for it arrive, in the order of their numbers.
struct GapParts {
    private let gap: Gap
    private var parts: [SessionRecord.FilledPart] = []
    /// The number of the next sample.
    private(set) var next: Int
    /// Samples received, including those of pauses.
    private(set) var came = 0
    /// Samples filled in.
    private(set) var samples = 0
    /// The uptimes of the first and last filled sample, in seconds.
    private(set) var firstUptime: Double?
    private(set) var lastUptime: Double?
    /// Whether the last samples were left out because of a pause.
    private var endsPaused = false

    init(_ gap: Gap) {
        self.gap = gap
        next = gap.from
    }

    /// If the gap has an unknown length, so have its parts: a part may have more samples than numbers.
    private func numbers(_ count: Int) -> Int { gap.count == 0 ? 0 : count }

    private var isFilling: Bool { parts.last?.samples != nil }

    /// Whether the next samples begin a part, so that the file must state their number.
    func beginsPart(paused isPaused: Bool) -> Bool { !isFilling || endsPaused && !isPaused }

    /// Notes that the samples before a number are missing.
    mutating func pass(to number: Int) {
        guard number > next else { return }
        leave(number - next)
        next = number
    }

    private mutating func leave(_ count: Int) {
        endsPaused = false
        parts.append(
            SessionRecord.FilledPart(from: next, count: numbers(count), samples: nil, afterUptime: lastUptime))
    }

    /// Takes the next samples.
    /// - Parameter isPaused: whether they are of a pause, so that the recorder would have left them out.
    mutating func take(_ count: Int, paused isPaused: Bool, uptimes: ArraySlice<Int64>) {
        if beginsPart(paused: isPaused) {
            parts.append(SessionRecord.FilledPart(from: next, count: 0, samples: 0))
        }
        parts[parts.count - 1].count += numbers(count)
        next += count
        came += count
        endsPaused = isPaused
        if isPaused { return }
        parts[parts.count - 1].samples? += count
        samples += count
        if let first = uptimes.first(where: { $0 != .max }) { firstUptime = firstUptime ?? Double(first) / 1e9 }
        if let last = uptimes.last(where: { $0 != .max }) { lastUptime = Double(last) / 1e9 }
    }

    /// The gap with its parts; nil if no sample was received.
    /// - Parameter isWhole: for a gap of unknown length, whether all its samples were received.
    func filled(isWhole: Bool) -> SessionRecord.FilledGap? {
        guard parts.contains(where: { $0.samples != nil }) else { return nil }
        var whole = self
        if gap.count > 0 {
            whole.pass(to: gap.from.addingClamped(gap.count))
        } else if !isWhole {
            whole.leave(0)
        }
        return SessionRecord.FilledGap(gap: gap, parts: whole.parts)
    }
}
