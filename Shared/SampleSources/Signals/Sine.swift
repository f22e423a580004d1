#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A sine wave of time: amplitude · sin(t · angularFrequency + phase) + offset.
package struct Sine: Hashable, Sendable {
    package var amplitude = 1.0
    /// In rad/s: 2π times the frequency in Hz.
    package var angularFrequency = 1.0
    /// In radians.
    package var phase = 0.0
    package var offset = 0.0

    package init(amplitude: Double = 1, angularFrequency: Double = 1, phase: Double = 0, offset: Double = 0) {
        self.amplitude = amplitude
        self.angularFrequency = angularFrequency
        self.phase = phase
        self.offset = offset
    }

    /// The value at `time` seconds.
    package func value(at time: Double) -> Double {
        amplitude * sin(time * angularFrequency + phase) + offset
    }
}
