/// Carries out effects that take time, those of a kind in sequence, during one life of a program.
final class EffectLanes {
    private final class Lane {
        var effects: [(delay: ClosedRange<Int64>, body: () throws -> Void)] = []
        var isBusy = false
    }

    private var lanes: [String: Lane] = [:]
    private let later: (ClosedRange<Int64>, @escaping () throws -> Void) -> Void
    private let afterEach: () throws -> Void

    /// - Parameters:
    ///   - later: schedules a closure, unless the program has ended by then.
    ///   - afterEach: is called after each effect.
    init(
        later: @escaping (ClosedRange<Int64>, @escaping () throws -> Void) -> Void,
        afterEach: @escaping () throws -> Void
    ) {
        self.later = later
        self.afterEach = afterEach
    }

    var isEmpty: Bool { lanes.values.allSatisfy { $0.effects.isEmpty && !$0.isBusy } }

    /// Schedules an effect after the earlier ones of its lane.
    func add(to name: String, _ delay: ClosedRange<Int64>, _ body: @escaping () throws -> Void) {
        let lane = lanes[name] ?? Lane()
        lanes[name] = lane
        lane.effects.append((delay, body))
        next(in: lane)
    }

    private func next(in lane: Lane) {
        guard !lane.isBusy, let (delay, body) = lane.effects.first else { return }
        lane.isBusy = true
        lane.effects.removeFirst()
        later(delay) { [self] in
            try body()
            lane.isBusy = false
            try afterEach()
            next(in: lane)
        }
    }
}
