package import Messages

/// A client that is notified of a device's steps: how many there were since the start, and when the next notification is due.
package struct StepSubscription: Hashable, Sendable {
    package let id: String
    package let device: String
    /// What its client calls it.
    package let name: String?
    /// How many more steps make a notification, at least 1.
    package internal(set) var updateOn: Int
    package let startDate: WallTime
    /// The same on the device's clock, if that was known.
    package let countedFrom: WallTime?
    /// When its client last started it, on the history's clock.
    package internal(set) var renewedDate: WallTime
    /// How long after that it ends, in nanoseconds.
    package internal(set) var lifetime: Int64?
    /// The same on this machine's monotonic clock, in nanoseconds; nil for one that continues after a restart.
    private let start: Int64?
    /// All steps since then.
    package private(set) var numberOfSteps: Int
    /// When it last counted, or began, on the history's clock.
    package private(set) var lastDate: WallTime

    /// A subscription.
    /// - Parameter start: when it begins, on the monotonic clock. Without, it continues after a restart: every step counts that
    ///   has not been counted.
    package init(
        id: String, device: String, name: String? = nil, updateOn: Int, startDate: WallTime, start: Int64? = nil,
        countedFrom: WallTime? = nil, renewedDate: WallTime? = nil, lifetime: Int64? = nil, numberOfSteps: Int,
        lastDate: WallTime
    ) {
        precondition(updateOn > 0, "a subscription is notified of some number of steps")
        self.id = id
        self.device = device
        self.name = name
        self.updateOn = updateOn
        self.startDate = startDate
        self.start = start
        self.countedFrom = countedFrom
        self.renewedDate = renewedDate ?? startDate
        self.lifetime = lifetime
        self.numberOfSteps = numberOfSteps
        self.lastDate = lastDate
    }

    /// Whether nobody used it for too long.
    func isUnused(at date: WallTime, keep: Int64) -> Bool {
        let used = lifetime == nil ? max(renewedDate, lastDate) : renewedDate
        return used.nanosecondsSince1970.addingClamped(lifetime ?? keep) < date.nanosecondsSince1970
    }

    /// Adds to the dates from `date` on what the history's clock goes ahead at once, in nanoseconds.
    mutating func follow(_ ahead: Int64, since date: WallTime) {
        if renewedDate >= date { renewedDate = renewedDate.adding(ahead) }
        if lastDate >= date { lastDate = lastDate.adding(ahead) }
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
