/// Estimates when samples were taken, from timestamps with random delays.
///
/// A sensor samples by its own oscillator; its reader stamps samples when it gets to them. So the next sample is expected one
/// period after the last, and a fifth of a stamp's deviation from that is believed: an alpha-beta filter (Benedict and Bordner,
/// 1962), which learns faster at first, like a regression over all stamps. At 15 Hz, stamps that are off by 30 % of a period are
/// off by 10 % afterwards. Samples with truly irregular times lose no measurable accuracy.
///
/// Up to two missing samples are bridged. A stamp that cannot be jittered, such as one at another rate, is used as it is.
struct SampleClock: Hashable, Sendable {
    private static let gain = 0.2
    /// The gain of the period: the critically damped choice for `gain`.
    private static let periodGain = gain * gain / (2 - gain)
    /// From this count on, the gains above exceed those of a regression.
    private static let settled = 20.0

    private var stamp = -Double.infinity
    private var time = 0.0
    private var period = Double.infinity
    /// Stamps since the clock was last restarted.
    private var count = 0.0
    /// The last stamp that was much earlier than its predecessor, and that predecessor. Not part of the state: after a restore,
    /// one more sample may be left out.
    private var doubtedStamp = -Double.infinity
    private var doubtedBefore = -Double.infinity

    /// Takes the stamp of the next sample, in seconds.
    ///
    /// - Returns: when the sample was taken. Nil if the stamp is not a number, or not later than the one before, unless it is the
    ///   second much earlier stamp in a row.
    @inline(__always)
    mutating func add(_ newStamp: Double) -> Double? {
        let step = newStamp - stamp
        guard step > 0, newStamp.isFinite else { return newStamp.isFinite ? beginAnew(at: newStamp) : nil }
        stamp = newStamp
        let elapsed = newStamp - time
        guard elapsed >= 0.5 * period, elapsed <= 3.5 * period else {
            time = newStamp
            period = step
            count = 1
            return time
        }
        let periods = elapsed <= 1.5 * period ? 1 : elapsed <= 2.5 * period ? 2.0 : 3
        let error = elapsed - periods * period
        var (gain, periodGain) = (Self.gain, Self.periodGain)
        if count < Self.settled {
            count += 1
            let triangle = count * (count + 1)
            gain = max(gain, (4 * count - 2) / triangle)
            periodGain = max(periodGain, 6 / triangle)
        }
        time = newStamp - (1 - gain) * error
        period += min(1, periodGain) * error / periods
        return time
    }

    /// Takes a stamp that is not later than the one before. If it and the next one are much earlier, the earlier one was wrong,
    /// or a clock was set.
    @inline(never)
    private mutating func beginAnew(at newStamp: Double) -> Double? {
        guard newStamp < stamp - StepDetector.longestGap else { return nil }
        let step = newStamp - doubtedStamp
        guard doubtedBefore == stamp, step > 0, step <= StepDetector.longestGap else {
            (doubtedStamp, doubtedBefore) = (newStamp, stamp)
            return nil
        }
        (stamp, time, period, count) = (newStamp, newStamp, .infinity, 1)
        return newStamp
    }

    mutating func read(from state: inout DetectorStateReader) {
        stamp = state.next()
        time = state.next()
        period = state.next()
        count = state.next()
    }

    func write(to state: inout DetectorStateWriter) {
        state.append(stamp)
        state.append(time)
        state.append(period)
        state.append(count)
    }
}
