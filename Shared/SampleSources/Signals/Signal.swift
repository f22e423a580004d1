package import Messages

/// A function of time on three axes, to be sampled by `SignalSource`.
///
/// Without state: the value depends on the time and, for noise, on the sample's index. Whoever has the specification can
/// compute each sample again, to the last bit on the same C library.
package enum Signal: Hashable, Sendable {
    case constant(Double, Axes)
    case sine(Sine, Axes)
    case noise(Noise, Axes)
    case walk(WalkSignal)
    case sum([Signal])

    /// The values on x, y, z; for a walk what the accelerometer reads.
    ///
    /// - Parameters:
    ///   - time: Seconds since the stream's start.
    ///   - index: The index of the sample, counted from the stream's start.
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

    /// The signal as device motion: a walk has all of it, anything else is user acceleration.
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

    /// The signal with its walks in `unit`; the figures of other terms are as they were given.
    package func converted(to unit: AccelerationUnit) throws(PublisherError) -> Self {
        switch self {
        case .walk(let walk): return .walk(try walk.converted(to: unit))
        case .sum(let terms):
            return .sum(try terms.map { (term) throws(PublisherError) in try term.converted(to: unit) })
        default: return self
        }
    }
}
