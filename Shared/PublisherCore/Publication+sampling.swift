import DequeModule
import Logging
package import Messages
package import SampleSources
import ServiceKit

/// The sampling, starting, stopping and finishing of streams.
extension Publication {
    /// The number of samples that a stream takes before other streams have their turn: a few milliseconds' work at most.
    static let samplesPerTurn = 4_096
    /// The most goals of a late stream; if it has more, it is not described after a sleep of the machine.
    static let maximumGoals = 1_000
    /// How long streams behind their schedules may delay the program's end; it is cut short after 7 s.
    private static let longestFinish = 3 * Nanoseconds.perSecond

    /// Serves a scheduled stream for one turn.
    func serve(_ entry: StreamSchedule.Entry, at now: Moment) {
        let stream = streams[entry.stream]
        // Otherwise an earlier entry has replaced this one.
        guard stream.scheduled == entry.deadline else { return }
        stream.scheduled = nil
        stream.samplesInTurn = 0
        progress(stream, at: now)
    }

    /// Takes the rows that were requested from a stream's source.
    /// - Parameter rows: its values are moved out.
    package func take(_ rows: inout SourceRows, of stream: PublishedStream, at now: Moment) {
        stream.isReading = false
        stream.sampler.take(&rows)
        if stream.isBeginning { noteBegun(stream, at: now) } else { progress(stream, at: now) }
    }

    /// Publishes due samples and reaches the stream's goals, until rows of its source are needed.
    func progress(_ stream: PublishedStream, at now: Moment) {
        while !stream.isReading {
            let time = min(now.monotonic, stream.goals.first?.time ?? .max)
            if stream.samplesInTurn < Self.samplesPerTurn, let batch = stream.sampler.advance(to: time) {
                stream.samplesInTurn += batch.count
                publish(batch, of: stream, at: now, takenAt: time)
            }
            let wanted = stream.sampler.rowsWanted
            if wanted > 0 {
                stream.isReading = true
                return emit(.read(stream, count: wanted))
            }
            if stream.isDue(at: time) { break }
            guard let goal = stream.goals.popFirst() else { break }
            reach(goal, of: stream, at: now)
        }
        noteState(of: stream, at: now)
        reschedule(stream)
    }

    /// Adds a goal, to be reached as soon as all samples that are due now are published.
    func add(_ purpose: PublishedStream.Goal.Purpose, to stream: PublishedStream, at now: Moment) {
        stream.goals.append(PublishedStream.Goal(time: now.monotonic, purpose: purpose))
        stream.samplesInTurn = 0
        if !stream.isReading { progress(stream, at: now) }
    }

    private func reach(_ goal: PublishedStream.Goal, of stream: PublishedStream, at now: Moment) {
        switch goal.purpose {
        case .list(let request):
            flush(stream, to: goal.time, at: now)
            noteListed(for: request, at: now)
        case .describe(let clock):
            flush(stream, to: goal.time, at: now)
            noteState(of: stream, at: now, describing: clock)
        case .stop(let request):
            stop(stream, to: goal.time, at: now)
            noteState(of: stream, at: now)
            answer(request, with: stream, at: now)
        case .finish:
            stop(stream, to: goal.time, at: now)
            noteFinished(stream, at: now)
        }
    }

    private func flush(_ stream: PublishedStream, to time: Int64, at now: Moment) {
        if let waiting = stream.sampler.flush(at: time) { publish(waiting, of: stream, at: now) }
    }

    private func stop(_ stream: PublishedStream, to time: Int64, at now: Moment) {
        if let last = stream.sampler.stop(at: time) { publish(last, of: stream, at: now) }
    }

    /// Schedules the stream's next deadline. If an earlier entry exists, that one reschedules the stream.
    private func reschedule(_ stream: PublishedStream) {
        guard let deadline = stream.sampler.nextDeadline, deadline < stream.scheduled ?? .max else { return }
        stream.scheduled = deadline
        schedule.insert(StreamSchedule.Entry(deadline: deadline, stream: stream.index))
    }

    // MARK: The beginning

    /// Starts a stream whose source is at its first sample.
    /// - Returns: the error if it cannot be started.
    func start(_ stream: PublishedStream, at now: Moment) -> PublisherError? {
        do throws(PublisherError) {
            try stream.sampler.start(at: Self.wholeMicrosecond(now.monotonic))
        } catch {
            return error
        }
        emit(.clear(stream.healthKey))
        stream.samplesInTurn = 0
        stream.isBeginning = true
        if stream.sampler.rowsWanted > 0 {
            stream.isReading = true
            emit(.read(stream, count: stream.sampler.rowsWanted))
        } else {
            noteBegun(stream, at: now)
        }
        return nil
    }

    /// Describes a stream as running, when its first rows are known and before they are published.
    private func noteBegun(_ stream: PublishedStream, at now: Moment) {
        stream.isBeginning = false
        noteState(of: stream, at: now)
        if let request = stream.starting.take() { answer(request, with: stream, at: now) }
        progress(stream, at: now)
    }

    /// Rounds down to a microsecond, so that uptimes have few digits.
    static func wholeMicrosecond(_ nanoseconds: Int64) -> Int64 { nanoseconds - nanoseconds % 1_000 }

    // MARK: The end

    /// Publishes due and waiting samples and stops all streams, because the program ends.
    package func finish(at now: Moment) {
        guard !isStopping else { return }
        isStopping = true
        finishDeadline = now.monotonic + Self.longestFinish
        unfinished = streams.count
        finishPushes()
        guard !streams.isEmpty else {
            finishDeadline = .max
            return emit(.finished)
        }
        for stream in streams { add(.finish, to: stream, at: now) }
    }

    /// Stops the streams that are still behind their schedules.
    func finishLate(at now: Moment) {
        finishDeadline = .max
        for stream in streams where !stream.goals.isEmpty {
            let behind = Nanoseconds.seconds(stream.behind(at: now.monotonic))
            emit(
                .log(
                    .warning, "stream stopped behind its schedule: samples that were due were not taken",
                    ["stream": "\(stream.name)", "behind.seconds": "\(behind)"]))
            while let goal = stream.goals.popFirst() { reach(goal, of: stream, at: now) }
        }
    }

    private func noteFinished(_ stream: PublishedStream, at now: Moment) {
        noteState(of: stream, at: now, describing: reading(at: now), isOver: true)
        unfinished -= 1
        guard unfinished == 0 else { return }
        finishDeadline = .max
        logMalformedLines()
        emit(.finished)
    }
}
