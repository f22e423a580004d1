package import Messages

/// A client's subscription to a device's steps: the total since the start, and when the next notification is due.
package struct StepSubscription: Hashable, Sendable {
    package let id: String
    package let device: String
    /// The client's name for it.
    package let name: String?
    /// The number of further steps that makes a notification, at least 1.
    package internal(set) var updateOn: Int
    package let startDate: WallTime
    /// The same on the device's clock, if that was known.
    package let countedFrom: WallTime?
    /// When the client last started or renewed it, on the history's clock.
    package internal(set) var renewedDate: WallTime
    /// How long after that it ends, in nanoseconds; nil if it ends only when it is unused for as long as the history is kept.
    package internal(set) var lifetime: Int64?
    /// When it began, on this machine's monotonic clock in nanoseconds; nil for one that continues after a restart.
    private let start: Int64?
    /// The total of steps since the start.
    package private(set) var numberOfSteps: Int
    /// When it last counted, or began, on the history's clock.
    package private(set) var lastDate: WallTime

    /// - Parameter start: when it begins, on the monotonic clock in nanoseconds. nil for one that continues after a restart: it
    ///   counts every step that it has not counted.
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

    /// Whether it was unused for too long.
    func isUnused(at date: WallTime, keep: Int64) -> Bool {
        let used = lifetime == nil ? max(renewedDate, lastDate) : renewedDate
        return used.nanosecondsSince1970.addingClamped(lifetime ?? keep) < date.nanosecondsSince1970
    }

    /// Moves the dates from `date` on by `ahead` nanoseconds, after the history's clock jumped ahead.
    mutating func follow(_ ahead: Int64, since date: WallTime) {
        if renewedDate >= date { renewedDate = renewedDate.adding(ahead) }
        if lastDate >= date { lastDate = lastDate.adding(ahead) }
    }

    /// Counts steps credited together, with their times on this machine's monotonic clock, in nanoseconds and in order.
    ///
    /// Steps made before the start are left out: a bout's first steps are credited seconds later, and those in replayed samples
    /// minutes later.
    /// - Returns: whether the total reached or passed a multiple of `updateOn`; a single notification, even if it passed several.
    mutating func count(_ steps: [Int64], at date: WallTime) -> Bool {
        let before = numberOfSteps
        numberOfSteps += start.map { start in steps.count { $0 >= start } } ?? steps.count
        if numberOfSteps > before { lastDate = date }
        return numberOfSteps / updateOn > before / updateOn
    }
}
