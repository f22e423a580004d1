package import Messages
package import SampleSources
import ServiceKit

/// Input from devices that give each sample a time: `TimedInput`.
extension Publication {
    /// The clock of a device's times.
    package enum DeviceClock: String, Sendable {
        /// The clock of uptimes: CLOCK_MONOTONIC.
        case monotonic
        case realtime
        /// CLOCK_BOOTTIME, which continues while the machine sleeps.
        case boottime
    }

    /// Notes that a stream's device is connected.
    /// - Throws: `invalidInput` if its fields or its unit changed, `invalidParameter` if a packed stream has text or long
    ///   numbers.
    package func connect(
        _ stream: PublishedStream, _ format: TimedInput.Format, at now: Moment
    ) throws(PublisherError) {
        guard let input = stream.sampler as? TimedInput else { return }
        guard format.types == nil || !stream.isPacked else {
            throw PublisherError(
                .invalidParameter, "\(stream.name) has text or long numbers, which can't be packed: leave --packed out")
        }
        try input.connect(format)
        noteState(of: stream, at: now)
        // Subscribers should know the fields before the first samples arrive.
        if stream.descriptions == 0 { describe(stream, reading(at: now)) }
    }

    /// Notes how far the clock of a stream's device is ahead of this machine's.
    package func note(_ clock: RemoteClock, of stream: PublishedStream) {
        (stream.sampler as? TimedInput)?.remoteClock = clock
    }

    /// Takes samples from a stream's device.
    /// - Parameter shift: nanoseconds to add to the samples' times before any conversion.
    package func take(
        _ rows: PushedRows, on clock: DeviceClock, shiftedBy shift: Int64 = 0, of stream: PublishedStream,
        at now: Moment
    ) {
        guard let input = stream.sampler as? TimedInput else { return }
        let offset =
            switch clock {
            case .monotonic: Int64(0)
            case .realtime: now.monotonic - now.date.nanosecondsSince1970
            case .boottime: now.monotonic - sleepWatch.elapsed(at: now.monotonic)
            }
        for piece in input.take(rows, offset: offset + shift, at: now.monotonic) {
            switch piece {
            case .batch(let batch): publish(batch, of: stream, at: now)
            case .lost(let count): stream.skip(to: stream.nextSequence + count, .estimated)
            }
        }
        stream.samplesInTurn = 0
        progress(stream, at: now)
    }

    /// Notes that a stream's device cannot be read at present.
    package func interrupt(_ stream: PublishedStream, _ error: PublisherError, at now: Moment) {
        guard let input = stream.sampler as? TimedInput else { return }
        if let left = input.interrupt(error, at: now.monotonic) { publish(left, of: stream, at: now) }
        progress(stream, at: now)
    }
}
