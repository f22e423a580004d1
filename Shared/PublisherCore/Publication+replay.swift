package import Messages
import SampleSources

/// Replays of samples that a subscriber missed.
extension Publication {
    /// The most replays under way at a time: each takes megabytes. Further requests are refused as `busy`, for the client to
    /// retry. It is more than one client requests at once.
    package static let maximumReplays = 16
    /// The approximate time to make that many replays, in seconds.
    private static let retryAfter = 0.5
    /// The approximate limit of a reply's samples, in bytes. The client requests the rest separately.
    private static let maximumReplyBytes = 4_000_000
    /// Ranges in one request: each may use at least 4,000 bytes.
    private static let maximumRanges = 1_000
    /// How many times longer a number can be in JSON than in memory, comma included.
    private static let digitsPerByte = 3

    /// Retained samples, with what is needed to encode them.
    package struct Retained: Sendable {
        package let answer: ReplayAnswer
        package let encoder: SampleBatchEncoder
        let clock: ClockReading
        let sleepWatch: SleepWatch
    }

    /// A replay under way. Its ranges share the byte limit of one reply; bytes that one range leaves unused go to the later ones.
    package struct Replay: Sendable {
        package let ranges: [SamplesReplay.Range]
        /// Whether the request gave a list of ranges: then the reply has an entry for each.
        let hasRanges: Bool
        /// For each range handled so far, its retained samples or an error.
        package fileprivate(set) var found: [Result<Retained, RequestError>] = []
        fileprivate var left = Publication.maximumReplyBytes

        package var isComplete: Bool { found.count == ranges.count }
    }

    /// Begins a replay. Call `findNext` until it is complete, and `endReplay` when its reply is made.
    /// - Throws: `busy` if too many replays are under way, `invalidParameter` if there are too many ranges.
    package func beginReplay(_ request: SamplesReplay) throws(RequestError) -> Replay {
        let ranges = request.ranges ?? []
        guard replaysUnderWay < Self.maximumReplays else {
            throw RequestError(
                .busy, "\(Self.maximumReplays) replays are being made: ask again in \(Self.retryAfter) s",
                retryAfter: Self.retryAfter)
        }
        guard ranges.count <= Self.maximumRanges else {
            throw RequestError(
                .invalidParameter,
                "\(ranges.count) ranges are too many for a request: give at most \(Self.maximumRanges)")
        }
        replaysUnderWay += 1
        return Replay(ranges: ranges.isEmpty ? [SamplesReplay.Range(request)] : ranges, hasRanges: !ranges.isEmpty)
    }

    /// Looks up a replay's next range. One at a time, because a large request must not delay samples.
    package func findNext(of replay: inout Replay, at now: Moment) {
        guard !replay.isComplete else { return }
        let maximumBytes = replay.left / (replay.ranges.count - replay.found.count)
        do throws(RequestError) {
            let (kept, bytes) = try retained(replay.ranges[replay.found.count], maximumBytes: maximumBytes, at: now)
            replay.left = max(0, replay.left - bytes)
            replay.found.append(.success(kept))
        } catch {
            replay.found.append(.failure(error))
        }
    }

    package func endReplay() { replaysUnderWay -= 1 }

    private func retained(
        _ range: SamplesReplay.Range, maximumBytes: Int, at now: Moment
    ) throws(RequestError) -> (Retained, bytes: Int) {
        let stream = try stream(of: range)
        guard range.from >= 0, range.count > 0 else {
            throw RequestError(
                .invalidParameter,
                "from \(range.from) and count \(range.count) name no samples: give from 0 or more, count 1 or more")
        }
        let bytesPerByte = stream.isPacked ? 1 : Self.digitsPerByte
        let answer = retention.batches(
            of: stream.place, from: Int64(range.from), count: range.count, maximumBytes: maximumBytes / bytesPerByte)
        let (end, isBeyond) = range.from.addingReportingOverflow(range.count)
        if answer.count == 0, !isBeyond, let reason = stream.reasonForHole(range.from..<end) {
            throw RequestError(
                reason == .estimated ? .estimated : .notInSource,
                "\(range.count) samples of \(stream.name) from \(range.from) on never reached the publisher")
        }
        samplesReplayed += answer.count
        return (
            Retained(
                answer: answer, encoder: stream.encoder,
                clock: ClockReading(uptime: Nanoseconds.seconds(now.monotonic), date: now.date),
                sleepWatch: sleepWatch), answer.bytes * bytesPerByte
        )
    }

    /// The earliest run of a stream that may have retained samples of a range: a pushed stream may have several runs.
    private func stream(of range: SamplesReplay.Range) throws(RequestError) -> PublishedStream {
        let name = StreamName(device: range.device, stream: range.stream)
        let former = pushes.former.first {
            $0.name == name && $0.epoch == range.epoch && range.from < $0.nextSequence
                && !retention.isEmpty(at: $0.place)
        }
        if let former { return former }
        let stream = try known(name)
        guard range.epoch == stream.epoch else {
            throw RequestError(
                .unknownEpoch,
                "the publisher has restarted since epoch '\(range.epoch.prefix(64))', and has only \(stream.epoch)")
        }
        return stream
    }
}
