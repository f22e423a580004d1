import Messages

/// Samples a signal at a fixed rate, without end.
///
/// Sample i is taken at i / rate, rounded to a nanosecond, and has the signal's value at exactly that time: a receiver that
/// computes `signal.value(at: timestamp, index: i)` gets the same.
package struct SignalSource: SampleSource {
    package enum Shape: Hashable, Sendable {
        /// x, y, z.
        case axes
        /// The nine fields of `DeviceMotion`.
        case deviceMotion
    }

    package let unit: String?
    package let description: String
    package let fields: [String]

    private let signal: Signal
    private let shape: Shape
    private let schedule: SampleSchedule
    private var index: Int64 = 0

    /// - Throws: `invalidParameter` for an impossible rate.
    package init(_ signal: Signal, rate: Double, shape: Shape = .axes, unit: String? = nil) throws(PublisherError) {
        self.signal = signal
        self.shape = shape
        self.unit = unit ?? signal.walk.map(\.unit.rawValue)
        schedule = try SampleSchedule(rate: rate)
        description = SignalSpecification.text(of: signal)
        fields = shape == .axes ? ["x", "y", "z"] : DeviceMotion.fields
    }

    package var rate: Double? { schedule.rate }
    package var walk: WalkSignal? { signal.walk }

    package mutating func next(into row: inout [Double]) throws(PublisherError) -> Int64? {
        guard let time = schedule.time(of: index) else { return nil }
        let seconds = Nanoseconds.seconds(time)
        switch shape {
        case .axes:
            let value = signal.value(at: seconds, index: index)
            row.append(value.x)
            row.append(value.y)
            row.append(value.z)
        case .deviceMotion:
            signal.motion(at: seconds, index: index).append(to: &row)
        }
        index += 1
        return time
    }

    package mutating func rewind() {
        index = 0
    }
}
