/// Asks whether steps can be counted: `steps.isAvailable`.
public struct StepsIsAvailable: Request, Hashable {
    /// The name on the wire.
    public static let method = "steps.isAvailable"
    /// The required role.
    public var neededRole: Role { .listen }

    /// Whether steps can be counted.
    public struct Reply: Codable, Hashable, Sendable {
        /// Whether an accelerometer is available.
        public var available: Bool

        /// Creates the reply.
        public init(available: Bool) { self.available = available }
    }

    /// The device's name; any device if omitted.
    public var device: String?

    /// Creates the request.
    public init(device: String? = nil) { self.device = device }
}

/// Counts a device's steps from now on, and publishes the total each time it reaches or passes a multiple of `updateOn`:
/// `steps.startUpdates`.
///
/// Each start begins a new subscription that counts from 0; earlier ones continue until they are stopped. With a `name`, a
/// client that starts again gets its earlier subscription of that name with its total; that renews it. An unused subscription
/// ends `lifetime` after it was last renewed; without a `lifetime`, it ends when its device made no step and it was not renewed
/// for as long as the history is kept. There may be `maximumNumber` at once; one more ends the one that was not renewed for
/// longest, if that is more than a minute ago. `updateOn` below 1 is refused as `invalidParameter`.
public struct StepsStartUpdates: Request, Hashable {
    /// The name on the wire.
    public static let method = "steps.startUpdates"
    /// Needs `command`, because the number of subscriptions is limited.
    public var neededRole: Role { .command }
    /// A repeated request begins another subscription.
    public static let isRepeatable = false
    /// The maximum number of subscriptions; one more is refused as `tooMany` while all are used.
    public static let maximumNumber = 1_000
    /// The maximum length of a name, in bytes of UTF-8.
    public static let maximumNameLength = 100

    /// The subscription.
    public struct Reply: Codable, Hashable, Sendable {
        /// The identifier that the subscription's events carry, and that stops it.
        public var subscription: String
        /// The topic of the subscription's events: `steps/<device>`.
        public var topic: String
        /// When the subscription began: only steps made since then count.
        public var startDate: WallTime
        /// The subscription's total so far: more than 0 only for a subscription that existed before.
        public var numberOfSteps: Int?
        /// Whether a sample of the device has ever arrived. If not, an event `appear` reports the first.
        public var isKnown: Bool?

        /// Creates a subscription.
        public init(
            subscription: String, topic: String, startDate: WallTime, numberOfSteps: Int? = nil, isKnown: Bool? = nil
        ) {
            self.subscription = subscription
            self.topic = topic
            self.startDate = startDate
            self.numberOfSteps = numberOfSteps
            self.isKnown = isKnown
        }
    }

    /// The device's name.
    public var device: String
    /// The number of steps between two updates. A restart under the same name changes it from then on.
    public var updateOn: Int
    /// The client's name for the subscription, unique per device. At most `maximumNameLength` bytes.
    public var name: String?
    /// Seconds after which the subscription ends unless it is renewed.
    public var lifetime: Double?

    /// Creates the request.
    public init(device: String, updateOn: Int, name: String? = nil, lifetime: Double? = nil) {
        self.device = device
        self.updateOn = updateOn
        self.name = name
        self.lifetime = lifetime
    }
}

/// Asks for the subscriptions: `steps.subscriptions`.
public struct StepsSubscriptions: Request, Hashable {
    /// The name on the wire.
    public static let method = "steps.subscriptions"
    /// The required role.
    public var neededRole: Role { .listen }

    /// The subscriptions.
    public struct Reply: Codable, Hashable, Sendable {
        /// The subscriptions, ordered by their starts.
        public var subscriptions: [Subscription]

        /// Creates the reply.
        public init(subscriptions: [Subscription]) { self.subscriptions = subscriptions }
    }

    /// A subscription.
    public struct Subscription: Codable, Hashable, Sendable {
        /// The identifier that the subscription's events carry, and that stops it.
        public var subscription: String
        /// The device's name.
        public var device: String
        /// The client's name for the subscription.
        public var name: String?
        /// The number of steps between two updates.
        public var updateOn: Int
        /// When the subscription began.
        public var startDate: WallTime
        /// When its client last started it.
        public var renewedDate: WallTime
        /// Seconds from `renewedDate` after which the subscription ends, if the client set a limit.
        public var lifetime: Double?
        /// All steps since the subscription began.
        public var numberOfSteps: Int
        /// Whether a sample of the device has ever arrived.
        public var isKnown: Bool

        /// Creates a subscription.
        public init(
            subscription: String, device: String, name: String? = nil, updateOn: Int, startDate: WallTime,
            renewedDate: WallTime, lifetime: Double? = nil, numberOfSteps: Int, isKnown: Bool
        ) {
            self.subscription = subscription
            self.device = device
            self.name = name
            self.updateOn = updateOn
            self.startDate = startDate
            self.renewedDate = renewedDate
            self.lifetime = lifetime
            self.numberOfSteps = numberOfSteps
            self.isKnown = isKnown
        }
    }

    /// The device's name; all devices if omitted.
    public var device: String?

    /// Creates the request.
    public init(device: String? = nil) { self.device = device }
}

/// Ends a subscription: `steps.stopUpdates`. Pending queries are still answered.
///
/// Stopping a stopped subscription is harmless: the reply repeats that of the first stop, as long as the program remembers it.
/// For an unknown subscription the reply has 0 steps.
public struct StepsStopUpdates: Request, Hashable {
    /// The name on the wire.
    public static let method = "steps.stopUpdates"
    /// The required role.
    public var neededRole: Role { .command }

    /// The total of the ended subscription.
    public struct Reply: Codable, Hashable, Sendable {
        /// All steps since the subscription began.
        public var numberOfSteps: Int

        /// Creates the reply.
        public init(numberOfSteps: Int) { self.numberOfSteps = numberOfSteps }
    }

    /// From the reply to `steps.startUpdates`.
    public var subscription: String

    /// Creates the request.
    public init(subscription: String) { self.subscription = subscription }
}

/// Asks how many steps a device made in a range of time, with or without a subscription: `steps.query`.
///
/// A step at `from` counts, one at `to` does not. If nothing is known the number is 0, and a range that begins before
/// `firstAvailable` is answered with what is known; `coverage` and `gaps` report what was not counted. `to` before `from` is
/// refused as `invalidParameter`.
public struct StepsQuery: Request, Hashable {
    /// The name on the wire.
    public static let method = "steps.query"
    /// The required role.
    public var neededRole: Role { .listen }
    /// The maximum number of bins in a reply: a week has 10,080 minutes.
    public static let maximumBins = 20_000
    /// The maximum number of times in `gaps`.
    public static let maximumGaps = 1_000
    /// The maximum number of steps for measures of gait: two weeks of somebody who walks a lot.
    public static let maximumGaitSteps = 500_000
    /// The maximum number of bouts in a reply.
    public static let maximumBouts = 10_000

    /// The steps in a range.
    public struct Reply: Codable, Hashable, Sendable {
        /// The steps in the whole range.
        public var numberOfSteps: Int
        /// The start of this device's history: earlier steps are unknown, or no longer kept.
        public var firstAvailable: WallTime
        /// The range in pieces, in order, if the request has `interval`.
        public var bins: [Bin]?
        /// The fraction of the range that was counted, from 0 to 1. Absent for an empty range, and if counting was interrupted
        /// more than 100,000 times in it.
        public var coverage: Double?
        /// The times that were not counted, and why, in order, up to `maximumGaps`. A bout's first steps are credited some
        /// seconds after they were made, so the last counted seconds may still get some.
        public var gaps: [UncountedTime]?
        /// The number of further times; absent if `gaps` is complete.
        public var gapsOmitted: Int?
        /// Whether a sample of the device has ever arrived.
        public var isKnown: Bool?
        /// Measures of gait for the steps in the range, if the request has `gait`.
        public var gait: GaitMeasures?
        /// The expected error of `numberOfSteps`, in the time that was counted. Absent if there are no steps, and if some were
        /// counted by a version that did not estimate their probability.
        public var expectedError: StepError?
        /// The bouts of walking in the range, in order, if the request has `bouts`.
        public var bouts: [Bout]?

        /// Creates the reply.
        public init(
            numberOfSteps: Int, firstAvailable: WallTime, bins: [Bin]? = nil, coverage: Double? = nil,
            gaps: [UncountedTime]? = nil, gapsOmitted: Int? = nil, isKnown: Bool? = nil, gait: GaitMeasures? = nil,
            expectedError: StepError? = nil, bouts: [Bout]? = nil
        ) {
            self.numberOfSteps = numberOfSteps
            self.firstAvailable = firstAvailable
            self.bins = bins
            self.coverage = coverage
            self.gaps = gaps
            self.gapsOmitted = gapsOmitted
            self.isKnown = isKnown
            self.gait = gait
            self.expectedError = expectedError
            self.bouts = bouts
        }
    }

    /// A bout of walking: steps that follow each other within 2.5 s. A bout that crosses an end of the range is cut there.
    public struct Bout: Codable, Hashable, Sendable {
        /// The time of the bout's first step.
        public var from: WallTime
        /// The time of the bout's last step.
        public var to: WallTime
        /// The number of steps in the bout.
        public var numberOfSteps: Int
        /// The probability that the bout is walking, from 0 to 1; absent if it was counted by a version that did not estimate
        /// it.
        public var confidence: Double?
        /// The bout's measures of gait.
        public var gait: GaitMeasures

        /// Creates a bout.
        public init(from: WallTime, to: WallTime, numberOfSteps: Int, confidence: Double? = nil, gait: GaitMeasures) {
            self.from = from
            self.to = to
            self.numberOfSteps = numberOfSteps
            self.confidence = confidence
            self.gait = gait
        }
    }

    /// A piece of the range, from `from` up to, but not including, `to`.
    public struct Bin: Codable, Hashable, Sendable {
        /// The bin's first moment.
        public var from: WallTime
        /// The first moment after the bin: the start of the next one, or the end of the range.
        public var to: WallTime
        /// The steps in the bin.
        public var numberOfSteps: Int
        /// The fraction of the bin that was counted, from 0 to 1, as in the reply.
        public var coverage: Double?
        /// As in the reply; absent for a bin without steps.
        public var gait: GaitMeasures?
        /// As in the reply.
        public var expectedError: StepError?

        /// Creates a bin.
        public init(
            from: WallTime, to: WallTime, numberOfSteps: Int, coverage: Double? = nil, gait: GaitMeasures? = nil,
            expectedError: StepError? = nil
        ) {
            self.from = from
            self.to = to
            self.numberOfSteps = numberOfSteps
            self.coverage = coverage
            self.gait = gait
            self.expectedError = expectedError
        }
    }

    /// The device's name.
    public var device: String
    /// The first moment of the range.
    public var from: WallTime
    /// The first moment after the range.
    public var to: WallTime
    /// The length of a bin in seconds; no bins if omitted.
    public var interval: Double?
    /// Whether the reply has measures of gait, for ranges of up to `maximumGaitSteps` steps.
    public var gait: Bool?
    /// Whether the reply lists the bouts of walking, for ranges of up to `maximumGaitSteps` steps and `maximumBouts` bouts.
    public var bouts: Bool?

    /// Creates the request.
    public init(
        device: String, from: WallTime, to: WallTime, interval: Double? = nil, gait: Bool? = nil, bouts: Bool? = nil
    ) {
        self.device = device
        self.from = from
        self.to = to
        self.interval = interval
        self.gait = gait
        self.bouts = bouts
    }
}
