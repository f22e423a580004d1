package import Messages
package import SampleSources
import ServiceKit

/// What comes from devices that give each sample a time: `TimedInput`.
extension Publication {
    /// The clock that a device's times are of.
    package enum DeviceClock: String, Sendable {
        /// That of uptimes: CLOCK_MONOTONIC.
        case monotonic
        case realtime
        /// It continues while the machine sleeps: CLOCK_BOOTTIME.
        case boottime
    }

    /// Notes that a stream's device is there.
    /// - Throws: `invalidInput` if it is another one than before, `invalidParameter` for text that is to be packed.
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
        // A listener should know the fields before the first samples come.
        if stream.descriptions == 0 { describe(stream, reading(at: now)) }
    }

    /// Notes how far the clock of a stream's device is ahead.
    package func note(_ clock: RemoteClock, of stream: PublishedStream) {
        (stream.sampler as? TimedInput)?.remoteClock = clock
    }

    /// Takes samples of a stream's device.
    /// - Parameter shift: what is added to their times first, in nanoseconds.
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

    /// Says that a stream's device can't be read at present.
    package func interrupt(_ stream: PublishedStream, _ error: PublisherError, at now: Moment) {
        guard let input = stream.sampler as? TimedInput else { return }
        if let left = input.interrupt(error, at: now.monotonic) { publish(left, of: stream, at: now) }
        progress(stream, at: now)
    }
}
