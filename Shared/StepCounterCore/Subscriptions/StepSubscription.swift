package import Messages

/// A client that is notified of a device's steps: how many there were since the start, and when the next notification is due.
package struct StepSubscription: Hashable, Sendable {
    package let id: String
    package let device: String
    /// How many more steps make a notification, at least 1.
    package let updateOn: Int
    package let startDate: WallTime
    /// The same on this machine's monotonic clock, in nanoseconds; nil for one that continues after a restart.
    private let start: Int64?
    /// All steps since then.
    package private(set) var numberOfSteps: Int
    /// When it last counted, or began.
    package private(set) var lastDate: WallTime

    /// A subscription that begins.
    init(id: String, device: String, updateOn: Int, startDate: WallTime, instant: Int64) {
        self.init(
            id: id, device: device, updateOn: updateOn, startDate: startDate, start: instant, numberOfSteps: 0,
            lastDate: startDate)
    }

    /// A subscription that continues: every step counts that has not been counted.
    package init(id: String, device: String, updateOn: Int, startDate: WallTime, numberOfSteps: Int, lastDate: WallTime)
    {
        self.init(
            id: id, device: device, updateOn: updateOn, startDate: startDate, start: nil, numberOfSteps: numberOfSteps,
            lastDate: lastDate)
    }

    private init(
        id: String, device: String, updateOn: Int, startDate: WallTime, start: Int64?, numberOfSteps: Int,
        lastDate: WallTime
    ) {
        precondition(updateOn > 0, "a subscription is notified of some number of steps")
        self.id = id
        self.device = device
        self.updateOn = updateOn
        self.startDate = startDate
        self.start = start
        self.numberOfSteps = numberOfSteps
        self.lastDate = lastDate
    }

    /// Counts steps that came together, with their instants on this machine's monotonic clock, in nanoseconds and in order.
    ///
    /// Steps made before the start are left out: a bout's first steps are credited seconds later, and those in samples that a
    /// publisher has kept, minutes later.
    /// - Returns: whether the total reached or passed a multiple of `updateOn`: once, however many it passed.
    mutating func count(_ steps: [Int64], at date: WallTime) -> Bool {
        let before = numberOfSteps
        numberOfSteps += start.map { start in steps.count { $0 >= start } } ?? steps.count
        if numberOfSteps > before { lastDate = date }
        return numberOfSteps / updateOn > before / updateOn
    }
}
