package import Messages
import SampleSources

/// What a listener missed, and asks for again.
extension Publication {
    /// Replays under way at the same time: each takes megabytes. Those beyond are refused as `busy`, to be asked for again
    /// soon. More than one client asks for at once.
    package static let maximumReplays = 16
    /// About what it takes to make so many, in seconds.
    private static let retryAfter = 0.5
    /// About how many bytes of samples a reply may bring. What is more is asked for again.
    private static let maximumReplyBytes = 4_000_000
    /// Ranges in one request: each gets four thousand bytes at least.
    private static let maximumRanges = 1_000
    /// How much longer a number can be in JSON than in memory, with its comma.
    private static let digitsPerByte = 3

    /// Samples that are kept, and what is needed to say them on the wire.
    package struct Retained: Sendable {
        package let answer: ReplayAnswer
        package let encoder: SampleBatchEncoder
        let clock: ClockReading
        let sleepWatch: SleepWatch
    }

    /// A replay under way. Its ranges share one reply's bytes, and those that need less leave more to the ones after them.
    package struct Replay: Sendable {
        package let ranges: [SamplesReplay.Range]
        /// Whether the request named its samples by ranges: then each has an answer of its own.
        let hasRanges: Bool
        /// What is kept of the first ranges, or why there is nothing.
        package fileprivate(set) var found: [Result<Retained, RequestError>] = []
        fileprivate var left = Publication.maximumReplyBytes

        package var isComplete: Bool { found.count == ranges.count }
    }

    /// Begins a replay. Call `findNext` until it is complete, and `endReplay` when its reply is made.
    /// - Throws: `busy` if too many are under way.
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

    /// Finds what is kept of a replay's next range: a large request must not make a sample late.
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

    /// The run of a stream that has the beginning of a range: of a stream that clients push there may be several.
    private func stream(of range: SamplesReplay.Range) throws(RequestError) -> PublishedStream {
        let name = StreamName(device: range.device, stream: range.stream)
        let former = pushes.former.last {
            $0.name == name && $0.epoch == range.epoch && ($0.firstSequence..<$0.nextSequence).contains(range.from)
        }
        if let former { return former }
        let stream = try known(name)
        guard range.epoch == stream.epoch else {
            throw RequestError(
                .unknownEpoch,
                "the publisher started anew since epoch '\(range.epoch.prefix(64))', and has only \(stream.epoch)")
        }
        return stream
    }
}
