package import Messages
import ServiceKit

/// Decides which of a session's streams fail, from their publishers' descriptions and from silence.
///
/// Pure: times are given. `now` is in nanoseconds of one monotonic clock, `time` in seconds since the session's start.
/// Each cause is found once per stream; a stream that recovers is not found again.
package struct StreamWatch: Sendable {
    /// What is wrong with a stream.
    package enum Cause: String, Hashable, Sendable {
        case failed
        /// Stopped by somebody, or with its publisher.
        case stopped
        /// Without samples, though described as running.
        case silent = "fell silent"
        case unheard = "was not heard of"
    }

    package struct Finding: Hashable, Sendable {
        package let stream: StreamName
        package let cause: Cause
        /// States the stream, what happened to it, when, and why.
        package let sentence: String
        /// Whether to publish the finding.
        package let isNew: Bool
        /// Whether the session is not whole because of it.
        package let isFailure: Bool

        /// Whether the stream is well again.
        package var isRecovery: Bool { !isNew && !isFailure }
    }

    /// A publisher of a stream, as it was last heard.
    package struct Source: Sendable {
        package let description: StreamDescription
        /// On the recorder's monotonic clock.
        package let heardAt: Int64
        /// The description when this epoch was met, or when it began to run again.
        fileprivate let first: StreamDescription
        /// A stop that may be the beginning of a restart.
        fileprivate var stop: (time: Double, at: Int64)?
        /// The longest time between two samples that descriptions show, in seconds.
        fileprivate var longestInterval = 0.0
        /// Whether the stream was left out of the session at that time.
        fileprivate var isLeftOut = false
    }

    private struct Stream {
        let name: StreamName
        /// By the publisher's REP endpoint.
        var sources: [String: Source] = [:]
        /// The last description, from any of the publishers.
        var latest: StreamDescription?
        var samples = 0
        /// The value of `listened` when the stream was last heard.
        var heard: Int64 = 0
        var heardTime = 0.0
        var found: Set<Cause> = []
        var present: Set<Cause> = []
        /// While the stream is unheard: the sentence about that, and the stream's last epoch.
        var unheard: (sentence: String, epoch: String?)?
    }

    /// Seconds. Publishers flush twice a second, but phones collect batches for some seconds.
    private static let shortestSilence = 5.0
    /// Nominal intervals without a sample. For a stream without a rate, its longest interval so far counts.
    private static let silentIntervals = 20.0
    /// Seconds in which a device's clock is compared: an LSL outlet's is every 2 s.
    private static let clockInterval = 2.0
    /// Samples after which the pace of a stream without a rate is known.
    private static let knownPace = 10
    /// Nanoseconds. Killed programs are back within this time.
    private static let unheardLimit: Int64 = 10_000_000_000
    /// Nanoseconds between two checks that count as listening, at most: a recorder that was stopped or had no processor did not
    /// listen.
    private static let longestStep: Int64 = 2_000_000_000
    /// Nanoseconds. Programs that are stopped together do not all stop at once, and a restarting publisher is away for a moment,
    /// as long as an unheard one may be.
    private static let stopDelay: Int64 = 10_000_000_000
    /// Most publishers that are remembered for a stream.
    private static let maximumSources = 64

    private var streams: [StreamName: Stream] = [:]
    private var pending: [Finding] = []
    /// The sentences found before the recorder was restarted.
    private let earlier: [String]
    private var listened: Int64 = 0
    private var checkedAt: Int64?
    private var checkedTime = 0.0

    /// - Parameter earlier: the sentences that were already found.
    package init(earlier: [String] = []) { self.earlier = earlier }

    /// The last description of a stream by the publisher at an endpoint.
    package func source(of stream: StreamName, at replay: String) -> Source? { streams[stream]?.sources[replay] }

    package func isUnheard(_ stream: StreamName) -> Bool { streams[stream]?.unheard != nil }

    /// The sentences about streams that are unheard now.
    package var unheard: [String] {
        streams.values.compactMap { stream in stream.unheard.map { "\(stream.name) \($0.sentence)" } }.sorted()
    }

    /// Takes a publisher's description of a stream.
    /// - Parameter isLeftOut: whether the session leaves the stream out now: nothing that its publisher then does is a failure.
    package mutating func take(_ description: StreamDescription, at now: Int64, time: Double, isLeftOut: Bool = false) {
        var stream = heard(description.name, time: time)
        let isKnown = stream.sources[description.replay] != nil
        if stream.sources.count >= Self.maximumSources, !isKnown { stream.sources = [:] }
        defer { streams[stream.name] = stream }
        if isLeftOut {
            var source = Source(description: description, heardAt: now, first: description)
            source.isLeftOut = true
            stream.sources[description.replay] = source
            stream.latest = description
            return
        }
        // A publisher whose network failed continues its epoch, and has the samples taken meanwhile.
        if let unheard = stream.unheard, let epoch = unheard.epoch, epoch != description.epoch {
            add(.unheard, unheard.sentence, isNew: false, to: &stream)
        }
        let known = stream.sources[description.replay]
        let before = known.flatMap { $0.description.epoch == description.epoch && !$0.isLeftOut ? $0 : nil }
        // After a stop or an absence, a stream is silent only if no sample follows once it runs again.
        let first = before.flatMap { $0.description.state == .running ? $0.first : nil } ?? description
        var source = Source(description: description, heardAt: now, first: first, stop: before?.stop)
        if let before { source.longestInterval = Self.longestInterval(of: before, and: description) }
        switch description.state {
        case .failed:
            let isFirst = known == nil && stream.samples == 0
            let reason = description.reason.map { ": \($0)" } ?? ""
            add(.failed, "failed \(isFirst ? "before" : "at") \(Self.text(time)) s\(reason)", to: &stream)
        case .stopped:
            let isHere = before.map { $0.description.state != .stopped } ?? (known != nil || stream.samples > 0)
            if isHere, source.stop == nil, !stream.present.contains(.stopped) { source.stop = (time, now) }
        case .running:
            if let stop = source.stop { addStop(at: stop.time, to: &stream) }
            source.stop = nil
            recover([.failed, .stopped], of: &stream, time: time)
            judgeSilence(of: source, time: time, &stream)
        default: break
        }
        stream.sources[description.replay] = source
        stream.latest = description
    }

    private mutating func judgeSilence(of source: Source, time: Double, _ stream: inout Stream) {
        let (description, first) = (source.description, source.first)
        // Samples that a relay lacks may be in transit: silence is judged at the site.
        if description.isRelayed { return }
        // Publishers before version 0.7 do not report when the last sample was taken.
        guard description.lastSample != nil || description.nextSequence == 0 else { return }
        guard let interval = interval(of: source) else { return }
        // An outlet of events still answers for its clock.
        let answered = description.isOfEvents ? description.remoteClock?.uptime : nil
        let last = max(answered ?? description.lastSample ?? first.clock.uptime, first.clock.uptime)
        let silence = description.clock.uptime - last
        if silence >= max(Self.shortestSilence, Self.silentIntervals * interval) {
            let since = Self.text(max(0, time - silence))
            let sign = answered == nil ? "sample" : "answer of its device"
            add(
                .silent,
                "fell silent at \(since) s: it is described as running, and had no \(sign) for \(Self.text(silence)) s",
                to: &stream)
        } else {
            recover([.silent], of: &stream, time: time)
        }
    }

    /// The seconds that pass between two signs of life; nil if they are not known.
    private func interval(of source: Source) -> Double? {
        let description = source.description
        if let rate = description.rate { return 1 / rate }
        if description.isOfEvents { return description.remoteClock.map { _ in Self.clockInterval } }
        // A stream without a rate has no known pace before some samples.
        let samples = description.nextSequence - source.first.nextSequence
        return samples >= Self.knownPace ? source.longestInterval : nil
    }

    /// The longest interval, now with the samples between two descriptions, which share the time between the last samples of
    /// both. A sample that was taken may not be counted yet.
    private static func longestInterval(of before: Source, and description: StreamDescription) -> Double {
        guard let last = description.lastSample else { return before.longestInterval }
        let span = last - (before.description.lastSample ?? before.first.clock.uptime)
        let count = description.nextSequence.subtractingClamped(before.description.nextSequence)
        return max(before.longestInterval, span / Double(max(1, count)))
    }

    /// Notes that the session leaves a stream out now: its publisher may be switched off.
    package mutating func passOver(_ name: StreamName) {
        guard let stream = streams[name], stream.unheard == nil else { return }
        streams[name] = heard(name, time: checkedTime)
    }

    /// Notes how many samples of a stream have arrived so far.
    package mutating func note(samples: Int, of name: StreamName) {
        if let known = streams[name], known.samples == samples { return }
        var stream = heard(name, time: checkedTime)
        stream.samples = samples
        streams[name] = stream
    }

    /// The state of a stream, marked as heard now.
    private func heard(_ name: StreamName, time: Double) -> Stream {
        var stream = streams[name] ?? Stream(name: name)
        stream.heard = listened
        stream.heardTime = time
        return stream
    }

    /// The findings since the last call. Call it about once a second.
    /// - Parameter isListening: whether messages are taken as they arrive; messages that wait to be taken are not a silence.
    package mutating func check(at now: Int64, time: Double, isListening: Bool) -> [Finding] {
        if isListening, let checkedAt { listened += min(max(0, now - checkedAt), Self.longestStep) }
        checkedAt = now
        checkedTime = time
        for (name, var stream) in streams {
            for (replay, source) in stream.sources {
                guard let stop = source.stop, now - stop.at >= Self.stopDelay else { continue }
                // A publisher that is back with another epoch was restarted.
                if stream.latest?.epoch == source.description.epoch { addStop(at: stop.time, to: &stream) }
                stream.sources[replay]?.stop = nil
            }
            judgePresence(of: &stream, time: time)
            streams[name] = stream
        }
        defer { pending = [] }
        return pending
    }

    /// The findings when the session stops: streams that are unheard then have failed.
    package mutating func finish(at now: Int64, time: Double) -> [Finding] {
        pending = check(at: now, time: time, isListening: false)
        for (name, var stream) in streams {
            guard let unheard = stream.unheard else { continue }
            add(.unheard, unheard.sentence, isNew: false, to: &stream)
            stream.unheard = nil
            streams[name] = stream
        }
        defer { pending = [] }
        return pending
    }

    private mutating func judgePresence(of stream: inout Stream, time: Double) {
        if listened - stream.heard < Self.unheardLimit {
            guard stream.unheard != nil else { return }
            stream.unheard = nil
            stream.present.insert(.unheard)
            return recover([.unheard], of: &stream, time: time)
        }
        // A stream that has ended, or is known to be stopped or failed, needs no publisher.
        let state = stream.latest?.state
        guard stream.unheard == nil, state != .ended, state != .stopped, state != .failed else { return }
        let since = Self.text(max(0, stream.heardTime))
        let sentence = "was not received from \(since) s on: its publisher is not running or not reachable"
        stream.unheard = (sentence, stream.latest?.epoch)
        find(.unheard, sentence, of: stream, isNew: true, isFailure: false)
    }

    private mutating func addStop(at time: Double, to stream: inout Stream) {
        add(
            .stopped, "stopped at \(Self.text(time)) s: a request or the end of its publisher stopped it", to: &stream)
    }

    private mutating func add(_ cause: Cause, _ sentence: String, isNew: Bool = true, to stream: inout Stream) {
        stream.present.insert(cause)
        guard stream.found.insert(cause).inserted else { return }
        find(cause, sentence, of: stream, isNew: isNew, isFailure: true)
    }

    /// Adds a finding, unless it was already found before the recorder was restarted.
    private mutating func find(_ cause: Cause, _ sentence: String, of stream: Stream, isNew: Bool, isFailure: Bool) {
        if earlier.contains(where: { $0.hasPrefix("\(stream.name) \(cause.rawValue) ") }) { return }
        pending.append(
            Finding(
                stream: stream.name, cause: cause, sentence: "\(stream.name) \(sentence)", isNew: isNew,
                isFailure: isFailure))
    }

    private mutating func recover(_ causes: Set<Cause>, of stream: inout Stream, time: Double) {
        for cause in stream.present.intersection(causes).sorted(by: { $0.rawValue < $1.rawValue }) {
            stream.present.remove(cause)
            let sentence = "\(stream.name) \(cause.rawValue), and is back at \(Self.text(time)) s"
            pending.append(
                Finding(stream: stream.name, cause: cause, sentence: sentence, isNew: false, isFailure: false))
        }
    }

    /// Rounded to one decimal.
    private static func text(_ seconds: Double) -> String {
        let tenths = (seconds * 10).rounded()
        return tenths.magnitude < 1e15 ? "\(tenths / 10)" : "\(seconds)"
    }
}

extension StreamDescription {
    /// Whether the stream has only texts and no rate, like an experiment's markers: it has a sample when something happens.
    fileprivate var isOfEvents: Bool {
        guard rate == nil, let types, types.count > 1 else { return false }
        return types.dropFirst().allSatisfy { $0 == .text }
    }
}
