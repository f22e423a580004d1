package import Messages

/// A function of time on three axes, to be sampled by `SignalSource`.
///
/// Without state: the value depends on the time and, for noise, on the sample's index. Anyone with the specification can compute
/// each sample, to the last bit on the same C library.
package enum Signal: Hashable, Sendable {
    case constant(Double, Axes)
    case sine(Sine, Axes)
    case noise(Noise, Axes)
    case walk(WalkSignal)
    case sum([Signal])

    /// The values on x, y, z; for a walk, the accelerometer's reading.
    ///
    /// - Parameters:
    ///   - time: seconds since the stream's start.
    ///   - index: the index of the sample, counted from the stream's start.
    package func value(at time: Double, index: Int64) -> SIMD3<Double> {
        switch self {
        case .constant(let value, let axes): return axes.filled(with: value)
        case .sine(let sine, let axes): return axes.filled(with: sine.value(at: time))
        case .noise(let noise, let axes): return noise.vector(index: index) * axes.filled(with: 1)
        case .walk(let walk): return walk.motion(at: time, index: index).acceleration
        case .sum(let terms):
            return terms.reduce(.zero) { $0 + $1.value(at: time, index: index) }
        }
    }

    /// The signal as device motion: a walk has all components, any other signal is user acceleration.
    package func motion(at time: Double, index: Int64) -> DeviceMotion {
        switch self {
        case .walk(let walk): return walk.motion(at: time, index: index)
        case .sum(let terms):
            return terms.reduce(DeviceMotion()) { $0 + $1.motion(at: time, index: index) }
        default: return DeviceMotion(userAcceleration: value(at: time, index: index))
        }
    }

    /// The walk in this signal; in a sum the first one.
    package var walk: WalkSignal? {
        switch self {
        case .walk(let walk): walk
        case .sum(let terms): terms.lazy.compactMap(\.walk).first
        default: nil
        }
    }

    /// The signal with its walks in `unit`; the values of other terms are unchanged.
    package func converted(to unit: AccelerationUnit) throws(PublisherError) -> Self {
        switch self {
        case .walk(let walk): return .walk(try walk.converted(to: unit))
        case .sum(let terms):
            return .sum(try terms.map { (term) throws(PublisherError) in try term.converted(to: unit) })
        default: return self
        }
    }
}
