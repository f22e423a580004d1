package import Messages
package import PublisherCore
package import SampleSources

/// Reads a device that gives each sample a time, on a thread of its own: waiting for the device delays no other stream.
package protocol DeviceReader: Actor {
    /// Finds the device and hands over its samples, until it is disconnected.
    /// - Throws: `PublisherError` with the reason for the end, `CancellationError` when the program ends.
    func read(for stream: any DeviceStream) async throws
}

/// The receiver of a device's samples.
package protocol DeviceStream: Sendable {
    /// Takes the device's properties, before its first samples.
    func connect(_ format: TimedInput.Format) async throws

    /// Takes samples of the device.
    /// - Parameters:
    ///   - clock: the clock of the samples' times.
    ///   - shift: nanoseconds to add to the samples' times to get those of the clock.
    func take(_ rows: PushedRows, on clock: Publication.DeviceClock, shiftedBy shift: Int64) async

    /// Notes how far the device's clock is ahead of this machine's.
    func note(_ clock: RemoteClock) async
}
