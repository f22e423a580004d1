package import Messages

/// Summarises a person's gait, bout by bout, from the times of steps alone.
///
/// Stride time, its coefficient of variation, and step time are defined as in Hausdorff, "Gait variability: methods, modeling and
/// meaning", J Neuroeng Rehabil 2:19 (2005), the lengths of bouts as in Del Din et al., "Free-living gait characteristics in
/// ageing and Parkinson's disease", J Neuroeng Rehabil 13:46 (2016). Legs are not compared: `StepPeaks` smooths the magnitude so
/// that neighbouring steps seem equally long.
package struct GaitSummary: Sendable {
    /// The upper limits of the classes of bouts, in seconds.
    package static let classes = [10.0, 30, 60, 120]
    /// Intervals outside these multiples of the bout's median are not single steps.
    private static let leastShare = 0.6
    private static let mostShare = 1.5
    /// The most intervals summed up at once, with a median of their own: about two minutes. A longer bout is summed up in pieces,
    /// so that its pace may change and only 2 kB of it are kept; strides across pieces are not counted.
    private static let longestPiece = 256

    /// The spread of times around the mean of each walk.
    private struct Spread {
        var count = 0
        var sum = 0.0
        /// The sum of the squared deviations from each walk's mean.
        var squares = 0.0
        /// The degrees of freedom of these.
        var degrees = 0

        mutating func add(_ times: some Collection<Double>) {
            guard !times.isEmpty else { return }
            let mean = times.reduce(0, +) / Double(times.count)
            count += times.count
            sum += mean * Double(times.count)
            squares += times.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
            degrees += times.count - 1
        }

        mutating func add(_ other: Spread) {
            count += other.count
            sum += other.sum
            squares += other.squares
            degrees += other.degrees
        }

        var mean: Double? { count > 0 ? sum / Double(count) : nil }
        var variability: Double? {
            guard let mean, degrees > 0 else { return nil }
            return (squares / Double(degrees)).squareRoot() / mean
        }
    }

    private var steps = 0
    private var boutCount = 0
    private var walkingTime = 0.0
    private var stepTimes = Spread()
    private var strideTimes = Spread()
    private var bouts = (classes.map(Optional.some) + [nil]).map { GaitMeasures.Bouts(upTo: $0) }
    /// The times of the present bout's last steps, which are not summed up yet.
    private var times: [Double] = []
    private var boutStart: Double?
    private var boutSteps = 0

    package init() {}

    /// Adds a bout.
    /// - Parameter times: the times of its steps, in seconds, in order.
    package mutating func add(bout times: some Collection<Double>) {
        for time in times { add(step: time) }
        endBout()
    }

    /// Adds a step of the present bout, which may be endless: the memory for it is bounded.
    package mutating func add(step time: Double) {
        boutStart = boutStart ?? time
        boutSteps += 1
        times.append(time)
        guard times.count > Self.longestPiece else { return }
        sumUp()
        times.removeAll(keepingCapacity: true)
        times.append(time)
    }

    /// Ends the present bout: the next step begins another one.
    package mutating func endBout() {
        guard let start = boutStart, let end = times.last else { return }
        steps += boutSteps
        boutCount += 1
        walkingTime += end - start
        if let place = bouts.firstIndex(where: { end - start <= $0.upTo ?? .infinity }) {
            bouts[place].bouts += 1
            bouts[place].steps += boutSteps
            bouts[place].walkingTime += end - start
        }
        sumUp()
        times.removeAll(keepingCapacity: true)
        (boutStart, boutSteps) = (nil, 0)
    }

    /// Adds the bouts of another summary.
    package mutating func add(_ other: GaitSummary) {
        steps += other.steps
        boutCount += other.boutCount
        walkingTime += other.walkingTime
        stepTimes.add(other.stepTimes)
        strideTimes.add(other.strideTimes)
        for place in bouts.indices {
            bouts[place].bouts += other.bouts[place].bouts
            bouts[place].steps += other.bouts[place].steps
            bouts[place].walkingTime += other.bouts[place].walkingTime
        }
    }

    private mutating func sumUp() {
        let intervals = zip(times.dropFirst(), times).map { $0 - $1 }
        guard !intervals.isEmpty else { return }
        let median = intervals.sorted()[intervals.count / 2]
        let walks = intervals.split { $0 < Self.leastShare * median || $0 > Self.mostShare * median }
        for walk in walks { add(walk: walk) }
    }

    /// Adds consecutive steps, none missing.
    private mutating func add(walk: ArraySlice<Double>) {
        stepTimes.add(walk)
        strideTimes.add(zip(walk, walk.dropFirst()).map { $0 + $1 })
    }

    /// The measures of all bouts together.
    package var measures: GaitMeasures {
        var measures = GaitMeasures()
        measures.steps = steps
        measures.walkingTime = walkingTime
        measures.cadence = walkingTime > 0 ? Double(steps - boutCount) / walkingTime : nil
        measures.stepTime = stepTimes.mean
        measures.strideTime = strideTimes.mean
        measures.strideTimeVariability = strideTimes.variability
        measures.strides = strideTimes.count
        measures.bouts = boutCount == 1 ? nil : bouts
        return measures
    }
}

extension GaitSummary {
    /// A longer interval, in seconds, separates bouts if only steps are known: the slowest walk has steps of two seconds.
    private static let longestStep = 2.5

    /// Divides steps into bouts, by their times alone.
    package static func bouts(in times: [Double]) -> [ArraySlice<Double>] {
        var bouts: [ArraySlice<Double>] = []
        var start = times.startIndex
        for index in times.indices.dropFirst() where times[index] - times[index - 1] > longestStep {
            bouts.append(times[start..<index])
            start = index
        }
        if start < times.endIndex { bouts.append(times[start...]) }
        return bouts
    }
}
