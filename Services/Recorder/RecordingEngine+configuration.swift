import Logging
import Messages
import RecorderCore
import Recording
import ServiceKit
import ZeroMQ

/// How logs are to be written: asked of log-manager, for as long as it takes to say that it is away.
///
/// What is described is asked for in the background, so that a log can be begun at once with what is known.
extension RecordingEngine {
    /// Asks for the logs of the streams that a session is to begin with.
    func configure(streamsOf patterns: Set<String>) async {
        let streams = described.keys.filter { $0.matches(anyOf: patterns) }
        var taken: Set<String> = []
        let names = Set(streams).sorted { $0.description < $1.description }.map { stream in
            let name = LogName(device: stream.device, stream: stream.stream, avoiding: taken)
            taken.insert(name.folded)
            return name
        }
        if !configurations.isAway(at: MonotonicClock.now) { await ask(for: names) }
    }

    /// Has the log of a stream that is described asked for, if it is time.
    /// - Returns: whether a log can be begun with what is known.
    func isConfigured(_ stream: StreamName) -> Bool {
        guard settings.shard?.owns(stream.device) ?? true else { return false }
        let name = LogName(device: stream.device, stream: stream.stream)
        let now = MonotonicClock.now
        if configurations.isDue(name, at: now), unasked.count < Self.maximumNames {
            unasked.insert(name)
            asking.raise()
        }
        return configurations.isSettled(name, at: now)
    }

    /// Asks for the logs of streams that were described, and begins those that waited for that, until the task is cancelled.
    func configureRegularly() async throws {
        for await _ in asking.raised {
            let now = MonotonicClock.now
            let names = unasked.filter { configurations.isDue($0, at: now) }
            unasked = []
            await ask(for: Array(names))
            let heard = waiting
            waiting = [:]
            let later = Moment.now
            for (description, time) in heard.values {
                take(description.later(by: later.monotonic - time), at: later)
            }
        }
        throw CancellationError()
    }

    private func ask(for names: [LogName]) async {
        guard !names.isEmpty else { return }
        let wasAway = configurations.awaySince != nil
        let answers = await logManager.configurations(of: names)
        // The program ends: that says nothing of log-manager.
        if Task.isCancelled { return }
        configurations.take(answers, at: MonotonicClock.now)
        if answers.isAway, !wasAway {
            logger.info(
                "log-manager does not answer: logs are written as recordings and this program's defaults say",
                metadata: ["endpoint": "\(logManager.endpoint)"])
        }
    }
}

extension StreamDescription {
    /// The same, where it is looked at later than it was received: both clocks went on.
    fileprivate func later(by nanoseconds: Int64) -> StreamDescription {
        var later = self
        let seconds = Double(nanoseconds) / 1e9
        later.clock.uptime += seconds
        later.clock.elapsed = clock.elapsed.map { $0 + seconds }
        later.clock.date = WallTime(
            nanosecondsSince1970: clock.date.nanosecondsSince1970.addingClamped(nanoseconds))
        return later
    }
}
