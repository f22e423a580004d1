/// Asks whether steps can be counted: `steps.isAvailable`.
public struct StepsIsAvailable: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "steps.isAvailable"
    /// Who may ask.
    public var neededRole: Role { .listen }

    /// Whether they can.
    public struct Reply: Codable, Hashable, Sendable {
        /// Whether there is an accelerometer to count with.
        public var available: Bool

        /// An answer.
        public init(available: Bool) { self.available = available }
    }

    /// The device; any of them if omitted.
    public var device: String?

    /// Asks.
    public init(device: String? = nil) { self.device = device }
}

/// Counts a device's steps from now on, and publishes the total each time it reaches or passes a multiple of `updateOn`:
/// `steps.startUpdates`.
///
/// Each start is a subscription of its own that counts from 0; earlier ones continue until they are stopped. There may be
/// `maximumNumber` at once. `updateOn` below 1 is refused as `invalidParameter`.
public struct StepsStartUpdates: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "steps.startUpdates"
    /// There is room for so many alone.
    public var neededRole: Role { .command }
    /// A second one is another subscription.
    public static let isRepeatable = false
    /// How many subscriptions there may be at once; one more is refused as `tooMany`.
    public static let maximumNumber = 1_000

    /// A subscription that began.
    public struct Reply: Codable, Hashable, Sendable {
        /// What its events are marked with, and what it is stopped by.
        public var subscription: String
        /// Where its events are published: `steps/<device>`.
        public var topic: String
        /// When it began: only steps made since then count.
        public var startDate: WallTime

        /// A subscription.
        public init(subscription: String, topic: String, startDate: WallTime) {
            self.subscription = subscription
            self.topic = topic
            self.startDate = startDate
        }
    }

    /// The device.
    public var device: String
    /// How many more steps make a notification.
    public var updateOn: Int

    /// Starts.
    public init(device: String, updateOn: Int) {
        self.device = device
        self.updateOn = updateOn
    }
}

/// Ends a subscription: `steps.stopUpdates`. Queries under way are answered all the same.
///
/// To stop what is stopped is harmless: the answer is that of the first stop, as long as the program remembers it. One
/// that never was had no steps.
public struct StepsStopUpdates: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "steps.stopUpdates"
    /// Who may ask.
    public var neededRole: Role { .command }

    /// A subscription that ended.
    public struct Reply: Codable, Hashable, Sendable {
        /// All steps since its start.
        public var numberOfSteps: Int

        /// A total.
        public init(numberOfSteps: Int) { self.numberOfSteps = numberOfSteps }
    }

    /// What the start answered.
    public var subscription: String

    /// Stops.
    public init(subscription: String) { self.subscription = subscription }
}

/// Asks how many steps a device made in a time, whoever listened then: `steps.query`.
///
/// A step at `from` counts, one at `to` does not. Where nothing is known the number is 0, and a range that began earlier
/// than `firstAvailable` is answered with what there is. `to` before `from` is refused as `invalidParameter`.
public struct StepsQuery: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "steps.query"
    /// Who may ask.
    public var neededRole: Role { .listen }
    /// How many bins an answer has at most: a week has 10,080 minutes.
    public static let maximumBins = 20_000

    /// How many steps there were.
    public struct Reply: Codable, Hashable, Sendable {
        /// The steps in the whole range.
        public var numberOfSteps: Int
        /// How far back the history of this device goes: what was before is not known, or not kept any more.
        public var firstAvailable: WallTime
        /// The range in pieces, in order, where `interval` asked for them.
        public var bins: [Bin]?

        /// An answer.
        public init(numberOfSteps: Int, firstAvailable: WallTime, bins: [Bin]? = nil) {
            self.numberOfSteps = numberOfSteps
            self.firstAvailable = firstAvailable
            self.bins = bins
        }
    }

    /// A piece of the range. It has `from`, and not `to`.
    public struct Bin: Codable, Hashable, Sendable {
        /// Its first moment.
        public var from: WallTime
        /// The first moment after it: that of the next bin, or the end of the range.
        public var to: WallTime
        /// The steps in it.
        public var numberOfSteps: Int

        /// A bin.
        public init(from: WallTime, to: WallTime, numberOfSteps: Int) {
            self.from = from
            self.to = to
            self.numberOfSteps = numberOfSteps
        }
    }

    /// The device.
    public var device: String
    /// The first moment of the range.
    public var from: WallTime
    /// The first moment after the range.
    public var to: WallTime
    /// Seconds of a bin; none if it is left out.
    public var interval: Double?

    /// Asks.
    public init(device: String, from: WallTime, to: WallTime, interval: Double? = nil) {
        self.device = device
        self.from = from
        self.to = to
        self.interval = interval
    }
}
