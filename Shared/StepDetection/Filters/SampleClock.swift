/// Tells when samples were made, from time stamps that are early or late by chance.
///
/// A sensor samples by an oscillator of its own; stamps are given by whoever reads it, when he comes to it. So the next sample
/// is expected one period after the last, and of what a stamp differs from that a fifth is believed: an alpha-beta filter
/// (Benedict and Bordner, 1962), which at first learns faster, as a regression over all stamps would. At 15 Hz, stamps that
/// are off by 30 % of a period are off by 10 % then. Samples that come in irregular times indeed lose nothing that can be
/// measured.
///
/// Up to two missing samples are bridged. What cannot be a jittered period, as another rate, is believed as it is.
struct SampleClock: Hashable, Sendable {
    private static let gain = 0.2
    /// Keeps what it knows of the period: the critically damped choice for `gain`.
    private static let periodGain = gain * gain / (2 - gain)
    /// From this count on the gains above are larger than those of a regression.
    private static let settled = 20.0

    private var stamp = -Double.infinity
    private var time = 0.0
    private var period = Double.infinity
    /// Stamps since the clock began anew.
    private var count = 0.0
    /// The last stamp that was much earlier than the one before it, and that one. It is not stored: then one more sample is left out.
    private var doubtedStamp = -Double.infinity
    private var doubtedBefore = -Double.infinity

    /// Takes the stamp of the next sample, in seconds.
    ///
    /// - Returns: when it was made; nil for a stamp that is not later than the one before, unless it is the second that is much
    ///   earlier, and for what is not a number.
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

    /// Takes a stamp that is not later than the one before. If it is much earlier, and so is the next one, what was wrong is the one
    /// before, or the clock was set.
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
