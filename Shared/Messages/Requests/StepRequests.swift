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
/// Each start is a subscription of its own that counts from 0; earlier ones continue until they are stopped. With a `name`,
/// a client that starts again gets the subscription back that it had under that name, with its total; that renews it.
/// A subscription that is not used ends: `lifetime` after it was last renewed, or, without one, when its device made no step
/// and it was not renewed for as long as the history is kept. There may be `maximumNumber` at once; for one more, the one that
/// was not renewed for longest ends, if that is more than a minute ago. `updateOn` below 1 is refused as `invalidParameter`.
public struct StepsStartUpdates: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "steps.startUpdates"
    /// There is room for so many alone.
    public var neededRole: Role { .command }
    /// A second one is another subscription.
    public static let isRepeatable = false
    /// How many subscriptions there may be at once; one more is refused as `tooMany` while all are used.
    public static let maximumNumber = 1_000
    /// How many bytes of UTF-8 a name has at most.
    public static let maximumNameLength = 100

    /// A subscription that began.
    public struct Reply: Codable, Hashable, Sendable {
        /// What its events are marked with, and what it is stopped by.
        public var subscription: String
        /// Where its events are published: `steps/<device>`.
        public var topic: String
        /// When it began: only steps made since then count.
        public var startDate: WallTime
        /// Its total so far: more than 0 only for one that the client had before.
        public var numberOfSteps: Int?
        /// Whether a sample of the device was ever heard of. If not, an event `appear` reports when it is.
        public var isKnown: Bool?

        /// A subscription.
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

    /// The device.
    public var device: String
    /// How many more steps make a notification. One that is started again under its name has it from now on.
    public var updateOn: Int
    /// What the client calls it; each device has names of its own. At most `maximumNameLength` bytes.
    public var name: String?
    /// Seconds after which it ends unless it is renewed.
    public var lifetime: Double?

    /// Starts.
    public init(device: String, updateOn: Int, name: String? = nil, lifetime: Double? = nil) {
        self.device = device
        self.updateOn = updateOn
        self.name = name
        self.lifetime = lifetime
    }
}

/// Asks which subscriptions there are: `steps.subscriptions`.
public struct StepsSubscriptions: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "steps.subscriptions"
    /// Who may ask.
    public var neededRole: Role { .listen }

    /// The subscriptions.
    public struct Reply: Codable, Hashable, Sendable {
        /// In the order of their starts.
        public var subscriptions: [Subscription]

        /// An answer.
        public init(subscriptions: [Subscription]) { self.subscriptions = subscriptions }
    }

    /// A subscription.
    public struct Subscription: Codable, Hashable, Sendable {
        /// What its events are marked with, and what it is stopped by.
        public var subscription: String
        /// The device.
        public var device: String
        /// What its client calls it.
        public var name: String?
        /// How many more steps make a notification.
        public var updateOn: Int
        /// When it began.
        public var startDate: WallTime
        /// When its client last started it.
        public var renewedDate: WallTime
        /// Seconds from then on after which it ends, if the client chose a number.
        public var lifetime: Double?
        /// All steps since its start.
        public var numberOfSteps: Int
        /// Whether a sample of the device was ever heard of.
        public var isKnown: Bool

        /// A subscription.
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

    /// The device; all of them if omitted.
    public var device: String?

    /// Asks.
    public init(device: String? = nil) { self.device = device }
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
/// than `firstAvailable` is answered with what there is; `coverage` and `gaps` report what was not counted. `to` before `from`
/// is refused as `invalidParameter`.
public struct StepsQuery: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "steps.query"
    /// Who may ask.
    public var neededRole: Role { .listen }
    /// How many bins an answer has at most: a week has 10,080 minutes.
    public static let maximumBins = 20_000
    /// How many times an answer lists in `gaps`.
    public static let maximumGaps = 1_000
    /// How many steps measures of gait are made of at most: two weeks of somebody who walks a lot.
    public static let maximumGaitSteps = 500_000
    /// How many bouts an answer lists at most.
    public static let maximumBouts = 10_000

    /// How many steps there were.
    public struct Reply: Codable, Hashable, Sendable {
        /// The steps in the whole range.
        public var numberOfSteps: Int
        /// How far back the history of this device goes: what was before is not known, or not kept any more.
        public var firstAvailable: WallTime
        /// The range in pieces, in order, where `interval` asked for them.
        public var bins: [Bin]?
        /// Which part of the range was counted, from 0 to 1. Left out for an empty range, and for one in which counting was
        /// interrupted more than 100,000 times.
        public var coverage: Double?
        /// When nothing was counted, and why, in order: the first `maximumGaps` of these times. A bout's first steps are credited
        /// some seconds after they were made, so the last seconds that were counted may still get some.
        public var gaps: [UncountedTime]?
        /// How many more times there are; left out if `gaps` has all.
        public var gapsOmitted: Int?
        /// Whether a sample of the device was ever heard of.
        public var isKnown: Bool?
        /// How the steps of the range were walked, where `gait` asked for it.
        public var gait: GaitMeasures?
        /// What may be wrong with `numberOfSteps`, in the time that was counted. Left out without steps, and if some were counted
        /// by a version that did not know how likely they are.
        public var expectedError: StepError?
        /// The bouts of walking in the range, in order, where `bouts` asked for them.
        public var bouts: [Bout]?

        /// An answer.
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

    /// A bout of walking: steps that follow each other within 2.5 s. Of one that lies across an end of the range it is what
    /// lies within.
    public struct Bout: Codable, Hashable, Sendable {
        /// The date of its first step.
        public var from: WallTime
        /// The date of its last step.
        public var to: WallTime
        /// Its steps.
        public var numberOfSteps: Int
        /// How likely it is walking, from 0 to 1; left out if it was counted by a version that did not know.
        public var confidence: Double?
        /// How it was walked.
        public var gait: GaitMeasures

        /// A bout.
        public init(from: WallTime, to: WallTime, numberOfSteps: Int, confidence: Double? = nil, gait: GaitMeasures) {
            self.from = from
            self.to = to
            self.numberOfSteps = numberOfSteps
            self.confidence = confidence
            self.gait = gait
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
        /// Which part of it was counted, from 0 to 1, as in the answer.
        public var coverage: Double?
        /// As in the answer; absent for a bin without steps.
        public var gait: GaitMeasures?
        /// As in the answer.
        public var expectedError: StepError?

        /// A bin.
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

    /// The device.
    public var device: String
    /// The first moment of the range.
    public var from: WallTime
    /// The first moment after the range.
    public var to: WallTime
    /// Seconds of a bin; none if it is left out.
    public var interval: Double?
    /// Whether the answer has measures of gait, for ranges of up to `maximumGaitSteps`.
    public var gait: Bool?
    /// Whether the answer lists the bouts of walking, for ranges of up to `maximumGaitSteps` and `maximumBouts`.
    public var bouts: Bool?

    /// Asks.
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
