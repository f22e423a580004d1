import Messages

/// Somebody who wants to know of a device's steps: how many there were since the start, and when to say so.
struct StepSubscription: Hashable, Sendable {
    /// What it is told apart by.
    let id: String
    let device: String
    /// How many more steps make a notification, at least 1.
    let updateOn: Int
    /// When it began, on the device's clock.
    let startDate: WallTime
    /// All steps since then.
    private(set) var numberOfSteps = 0

    init(id: String, device: String, updateOn: Int, startDate: WallTime, numberOfSteps: Int = 0) {
        precondition(updateOn > 0, "a subscription is notified of some number of steps")
        self.id = id
        self.device = device
        self.updateOn = updateOn
        self.startDate = startDate
        self.numberOfSteps = numberOfSteps
    }

    /// Counts steps that came together, with their dates on the device's clock, in order.
    ///
    /// What was made before the start is left out: a bout's first steps are credited seconds later. Once one counts, all that
    /// follow do, so that a device whose clock is set back goes on.
    /// - Returns: whether the total reached or passed a multiple of `updateOn`: once, however many it passed.
    mutating func count(_ steps: some Collection<WallTime>) -> Bool {
        let before = numberOfSteps
        numberOfSteps += before > 0 ? steps.count : steps.drop { $0 < startDate }.count
        return numberOfSteps / updateOn > before / updateOn
    }
}
