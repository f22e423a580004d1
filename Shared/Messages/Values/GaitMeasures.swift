/// How somebody walked: in one bout, a recording, a day.
///
/// A bout is an uninterrupted walk; a step ends when the next one begins, a stride is two steps. Where a step was missed, or one too
/// many was found, the intervals around it are left out (`strides` says how many are left). What needs them is absent where
/// there are none.
public struct GaitMeasures: Codable, Hashable, Sendable {
    /// Bouts of up to so many seconds, and longer than those of the class before.
    public struct Bouts: Codable, Hashable, Sendable {
        /// In seconds; absent for the class of the longest.
        public var upTo: Double?
        /// How many.
        public var bouts: Int
        /// The steps in them.
        public var steps: Int
        /// In seconds.
        public var walkingTime: Double

        /// No bout yet.
        public init(upTo: Double?) {
            self.upTo = upTo
            bouts = 0
            steps = 0
            walkingTime = 0
        }
    }

    /// How many steps.
    public var steps: Int
    /// Seconds from each bout's first step to its last, together.
    public var walkingTime: Double
    /// Steps a second, in that time.
    public var cadence: Double?
    /// The mean time from a step to the next, in seconds.
    public var stepTime: Double?
    /// The mean time of a stride, in seconds.
    public var strideTime: Double?
    /// The standard deviation of stride times around the mean of the walk that they belong to, divided by `strideTime`: the
    /// coefficient of variation.
    public var strideTimeVariability: Double?
    /// The strides that these are from.
    public var strides: Int
    /// Bouts by their length, from the shortest class to the longest; absent for a single bout.
    public var bouts: [Bouts]?

    /// Measures of no step.
    public init() {
        steps = 0
        walkingTime = 0
        strides = 0
    }
}
