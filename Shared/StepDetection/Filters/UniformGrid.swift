/// Converts samples at arbitrary times to the means of equal cells of time.
///
/// Between two samples the signal is taken as the parabola that also passes through the sample before them, and each cell holds
/// its exact mean: a box filter that treats sources of 12.5 Hz and of 400 Hz alike, with jitter or missing samples, since only
/// timestamps count. Its zero is at the frequency that sampling would fold into 0 Hz; at 2 Hz a cell of 40 ms loses 1 %. At 50 Hz
/// straight lines would be enough; for a movement of 4 Hz sampled at 15 Hz they lose a quarter, the parabola a tenth.
///
/// Cells are counted from the first sample, so that the batching of samples has no effect.
struct UniformGrid: Hashable, Sendable {
    /// The use made of a sample.
    enum Outcome {
        /// It follows the one before.
        case continues
        /// It is the first, or the first after a gap or an equally long step back: the cells restart at its time.
        case begins
        /// It is not after the one before, or not a number: it is ignored.
        case ignored
    }

    /// Seconds in a cell.
    let cell: Double
    /// The longest time between two samples that is bridged, in seconds.
    let longestGap: Double

    private(set) var start = 0.0
    private(set) var count = 0.0
    /// The last sample, and the integral since the cell's beginning.
    private(set) var time = -Double.infinity
    private(set) var value = SIMD4<Float>()
    private(set) var area = SIMD4<Float>()
    private var end = 0.0
    private var previousSlope = SIMD4<Float>()
    private var previousStep = 0.0

    init(cell: Double, longestGap: Double) {
        self.cell = cell
        self.longestGap = longestGap
    }

    /// Adds a sample; `complete` gets the end and the mean of each cell that the sample completes.
    @inline(__always)
    mutating func add(
        _ newValue: SIMD4<Float>, at newTime: Double, _ complete: (Double, SIMD4<Float>) -> Void
    ) -> Outcome {
        let step = newTime - time
        // Checking the first lane is enough: it is the magnitude, which is not finite if an axis is not.
        guard newValue.x.isFinite, newTime.isFinite, step > 0 || step < -longestGap else { return .ignored }
        guard step > 0, step <= longestGap else {
            start = newTime
            count = 0
            end = newTime + cell
            time = newTime
            value = newValue
            area = SIMD4()
            previousStep = 0
            return .begins
        }
        let slope = (newValue - value) / Float(step)
        // A parabola through the last three samples: see above.
        let bend = previousStep > 0 ? (slope - previousSlope) / Float(step + previousStep) : SIMD4()
        if newTime >= end {
            let (start, startValue) = (time, value)
            let perCell = Float(1 / cell)
            while end <= newTime {
                let (from, to) = (Float(time - start), Float(end - start))
                let mean = (area + integral(startValue, slope, bend, Float(step), from, to)) * perCell
                time = end
                area = SIMD4()
                count += 1
                complete(end, mean)
                // Not by adding: the cells would drift.
                end = self.start + (count + 1) * cell
            }
            area += integral(startValue, slope, bend, Float(step), Float(time - start), Float(step))
        } else {
            area += integral(value, slope, bend, Float(step), 0, Float(step))
        }
        previousSlope = slope
        previousStep = step
        time = newTime
        value = newValue
        return .continues
    }

    /// The integral of the parabola between `from` and `to`, in seconds after its first sample.
    @inline(__always)
    private func integral(
        _ value: SIMD4<Float>, _ slope: SIMD4<Float>, _ bend: SIMD4<Float>, _ step: Float, _ from: Float, _ to: Float
    ) -> SIMD4<Float> {
        let half = 0.5 * (to * to - from * from)
        let third = (to * to * to - from * from * from) * (1 / 3)
        return value * (to - from) + slope * half + bend * (third - step * half)
    }

    init(cell: Double, longestGap: Double, state: inout DetectorStateReader) {
        self.init(cell: cell, longestGap: longestGap)
        start = state.next()
        count = state.next()
        time = state.next()
        value = state.next()
        area = state.next()
        previousSlope = state.next()
        previousStep = state.next()
        end = start + (count + 1) * cell
        // A damaged state restarts the grid.
        if !(0...1.01 * cell ~= end - time) { time = -.infinity }
    }

    func write(to state: inout DetectorStateWriter) {
        state.append(start)
        state.append(count)
        state.append(time)
        state.append(value)
        state.append(area)
        state.append(previousSlope)
        state.append(previousStep)
    }
}
