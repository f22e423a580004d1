/// Turns samples that come at any times into the means of equal cells of time.
///
/// The signal is taken as straight between two samples, and each cell holds its exact mean: a box filter that does the same
/// to a source of 12.5 Hz and to one of 400 Hz, jittered or with samples missing, since only time stamps count. It has its
/// zero where sampling would fold into 0 Hz; at 2 Hz a cell of 40 ms loses 1 %.
///
/// Cells are counted from the first sample, so that how samples are batched changes nothing.
struct UniformGrid: Hashable, Sendable {
    /// What a sample was good for.
    enum Outcome {
        /// It goes on from the one before.
        case continues
        /// It is the first, or the first after a gap: the cells begin anew at its time.
        case begins
        /// It is not after the one before, or not a number: it is left out.
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

    init(cell: Double, longestGap: Double) {
        self.cell = cell
        self.longestGap = longestGap
    }

    /// Adds a sample; `complete` gets the end and the mean of each cell that it completes.
    @inline(__always)
    mutating func add(
        _ newValue: SIMD4<Float>, at newTime: Double, _ complete: (Double, SIMD4<Float>) -> Void
    ) -> Outcome {
        let step = newTime - time
        // One lane suffices: the first is the magnitude, which no sample with a bad axis has.
        guard newValue.x.isFinite, newTime.isFinite, step > 0 else { return .ignored }
        guard step <= longestGap else {
            start = newTime
            count = 0
            end = newTime + cell
            time = newTime
            value = newValue
            area = SIMD4()
            return .begins
        }
        if newTime >= end {
            let slope = (newValue - value) / Float(step)
            while end <= newTime {
                let width = Float(end - time)
                let valueAtEnd = value + slope * width
                let mean = (area + (value + valueAtEnd) * (0.5 * width)) / Float(cell)
                time = end
                value = valueAtEnd
                area = SIMD4()
                count += 1
                complete(end, mean)
                // Not by adding: the cells would drift.
                end = start + (count + 1) * cell
            }
        }
        area += (value + newValue) * Float(0.5 * (newTime - time))
        time = newTime
        value = newValue
        return .continues
    }

    init(cell: Double, longestGap: Double, state: inout DetectorStateReader) {
        self.init(cell: cell, longestGap: longestGap)
        start = state.next()
        count = state.next()
        time = state.next()
        value = state.next()
        area = state.next()
        end = start + (count + 1) * cell
    }

    func write(to state: inout DetectorStateWriter) {
        state.append(start)
        state.append(count)
        state.append(time)
        state.append(value)
        state.append(area)
    }
}
