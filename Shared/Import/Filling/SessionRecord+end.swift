import Messages
import Recording

extension SessionRecord {
    /// The session's end by the clock of an epoch's publisher, on which the times of its samples are based, in
    /// nanoseconds since the session's start; `.max` if the session has no end.
    func end(by epoch: Epoch?) -> Int64 {
        guard let endDate else { return .max }
        let comparison = clocks.last { $0.endpoint == epoch?.replay }
        return endDate.distance(from: startDate).addingClamped(Int64(nanosecondsIn: comparison?.offset ?? 0))
    }
}
