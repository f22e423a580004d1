import Logging
package import Messages
package import SampleSources
import ServiceKit

/// Standard input and the serial port.
extension Publication {
    /// How standard input ended.
    package enum InputEnd {
        /// The end of a file is the end of its samples.
        case file
        /// A closed pipe is a failure: the program that wrote to it may have crashed.
        case pipe
        case failure(PublisherError)
    }

    private static let closedPipe = PublisherError(
        .unreadable, "standard input was closed: the program that writes to it has ended; restart both")

    /// Takes bytes in pieces of any size; a piece need not end with a line.
    package func take(_ bytes: Span<UInt8>, at now: Moment) {
        guard let live else { return }
        let time = Self.wholeMicrosecond(now.monotonic)
        if let lost = live.input.resume(at: time) {
            live.stream.skip(to: live.stream.nextSequence + lost, .estimated)
            noteState(of: live.stream, at: now)
        }
        publish(live.input.take(bytes, at: time, date: now.date), of: live, at: now)
    }

    /// Notes that the serial port cannot be read at present.
    package func interruptInput(_ error: PublisherError, at now: Moment) {
        guard let live else { return }
        publish(live.input.interrupt(error, at: Self.wholeMicrosecond(now.monotonic)), of: live, at: now)
    }

    package func endInput(_ end: InputEnd, at now: Moment) {
        guard let live else { return }
        let time = Self.wholeMicrosecond(now.monotonic)
        let last =
            switch end {
            case .file: live.input.end(at: time, date: now.date)
            case .pipe: live.input.fail(Self.closedPipe, at: time, date: now.date)
            case .failure(let error): live.input.fail(error, at: time, date: now.date)
            }
        publish(last, of: live, at: now)
    }

    private func publish(
        _ batches: [RowBatch], of live: (stream: PublishedStream, input: LiveInput), at now: Moment
    ) {
        // Subscribers should know the fields before the first samples arrive.
        if live.stream.descriptions == 0 { describe(live.stream, reading(at: now)) }
        for batch in batches { publish(batch, of: live.stream, at: now) }
        live.stream.samplesInTurn = 0
        progress(live.stream, at: now)
        guard live.input.malformedLines > reportedMalformedLines, let problem = live.input.lastProblem else { return }
        reportedMalformedLines = live.input.malformedLines
        emit(
            .report(
                .degraded,
                "\(reportedMalformedLines) lines could not be read and were left out, most recently \(problem)",
                for: "malformed lines", lasting: Self.failureLife))
    }

    func logMalformedLines() {
        guard let live, live.input.malformedLines > loggedMalformedLines, let problem = live.input.lastProblem else {
            return
        }
        loggedMalformedLines = live.input.malformedLines
        emit(
            .log(.warning, "lines left out", ["count": "\(loggedMalformedLines)", LogKey.error: "\(problem)"]))
    }
}
