/// Measures of walking: of one bout, a recording or a day.
///
/// A bout is an uninterrupted walk; a step ends when the next one begins, and a stride is two steps. If a step was missed, or a
/// false one was found, the intervals around it are left out; `strides` is the number that remains. Measures are absent if no
/// interval for them remains.
public struct GaitMeasures: Codable, Hashable, Sendable {
    /// Bouts of up to `upTo` seconds, and longer than those of the previous class.
    public struct Bouts: Codable, Hashable, Sendable {
        /// In seconds, inclusive; absent for the class of the longest bouts.
        public var upTo: Double?
        /// The number of bouts.
        public var bouts: Int
        /// The steps in them.
        public var steps: Int
        /// Their total duration in seconds.
        public var walkingTime: Double

        /// Creates a class without bouts.
        public init(upTo: Double?) {
            self.upTo = upTo
            bouts = 0
            steps = 0
            walkingTime = 0
        }
    }

    /// The number of steps.
    public var steps: Int
    /// Seconds from each bout's first step to its last, summed over all bouts.
    public var walkingTime: Double
    /// Steps per second, during `walkingTime`.
    public var cadence: Double?
    /// The mean time from one step to the next, in seconds.
    public var stepTime: Double?
    /// The mean time of a stride, in seconds.
    public var strideTime: Double?
    /// The coefficient of variation of stride times: their standard deviation around the mean of their own walk, divided by
    /// `strideTime`.
    public var strideTimeVariability: Double?
    /// The number of strides measured.
    public var strides: Int
    /// Bouts by length, from the shortest class to the longest; absent for a single bout.
    public var bouts: [Bouts]?

    /// Creates measures without steps.
    public init() {
        steps = 0
        walkingTime = 0
        strides = 0
    }
}
