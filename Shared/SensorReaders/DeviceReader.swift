package import Messages
package import PublisherCore
package import SampleSources

/// Reads a device that gives each sample a time, on a thread of its own: what waits for the device makes no other stream late.
package protocol DeviceReader: Actor {
    /// Finds the device and hands over what it samples, until it is gone.
    /// - Throws: `PublisherError` saying why there is nothing more, `CancellationError` when the program ends.
    func read(for stream: any DeviceStream) async throws
}

/// Where a device's samples go.
package protocol DeviceStream: Sendable {
    /// Says what the device is, before its first samples.
    func connect(_ format: TimedInput.Format) async throws

    /// Takes what the device sampled.
    /// - Parameters:
    ///   - clock: of the samples' times.
    ///   - shift: what is added to the samples' times to get those of the clock, in nanoseconds.
    func take(_ rows: PushedRows, on clock: Publication.DeviceClock, shiftedBy shift: Int64) async

    /// Notes how far the device's clock is from ours.
    func note(_ clock: RemoteClock) async
}
