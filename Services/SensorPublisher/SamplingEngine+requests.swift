import MessageBus
import Messages
import ServiceKit
import ZeroMQ

/// What is asked.
extension SamplingEngine {
    /// About how many bytes of samples a reply may bring. What is more is asked for again.
    static let maximumReplyBytes = 4_000_000
    /// Ranges in one request: each gets four thousand bytes at least.
    private static let maximumRanges = 1_000
    /// How much longer a number can be in JSON than in memory, with its comma.
    private static let digitsPerByte = 3

    /// Samples that are kept, and what is needed to say them on the wire.
    struct Retained: Sendable {
        let answer: ReplayAnswer
        let encoder: SampleBatchEncoder
        let clock: ClockReading
        /// About how many they are in a reply.
        let bytes: Int
    }

    /// The streams that are asked for, when what was sampled of them so far is published.
    func list(_ request: StreamsList) async throws -> StreamsList.Reply {
        let patterns = request.streams ?? [StreamName.everything]
        guard patterns.count <= StreamsList.maximumPatterns else {
            throw RequestError(
                .invalidParameter,
                "streams has \(patterns.count) names: write at most \(StreamsList.maximumPatterns), \"device/\" for all of a "
                    + "device, or none for all")
        }
        begin()
        let now = instant()
        let wanted = Set(patterns)
        let streams = streams.filter { $0.name.matches(anyOf: wanted) }
        for stream in streams {
            try await catchUp(stream, to: now)
            if let waiting = stream.sampler.flush(at: now) { publish([waiting], of: stream) }
        }
        return StreamsList.Reply(streams: streams.filter(\.isKnown).map { description(of: $0) })
    }

    /// Starts a stream.
    func start(_ request: StreamsStart) throws -> StreamDescription {
        begin()
        guard !isStopping else { throw RequestError(.stopping, "the program is stopping") }
        let stream = try known(request.stream)
        do {
            try start(stream, at: Self.wholeMicrosecond(instant()))
        } catch {
            throw RequestError(error, of: request.stream)
        }
        return description(of: stream)
    }

    /// Stops a stream: what is due by now is published, and nothing after that.
    func stop(_ request: StreamsStop) async throws -> StreamDescription {
        begin()
        let stream = try known(request.stream)
        guard stream.sampler.state == .running else {
            throw RequestError(.notRunning, "\(request.stream) is not running: it is \(stream.state.rawValue)")
        }
        let now = instant()
        try await catchUp(stream, to: now)
        if let last = stream.sampler.stop(at: now) { publish([last], of: stream) }
        noteState(of: stream)
        return description(of: stream)
    }

    /// What is kept of the samples that are asked for, of each range: all of them share one reply's bytes, and those that
    /// need less leave more to the ones after them.
    func retained(_ ranges: [SamplesReplay.Range]) async throws(RequestError) -> [Result<Retained, RequestError>] {
        guard ranges.count <= Self.maximumRanges else {
            throw RequestError(
                .invalidParameter,
                "\(ranges.count) ranges are too many for a request: give \(Self.maximumRanges) at most")
        }
        var left = Self.maximumReplyBytes
        var found: [Result<Retained, RequestError>] = []
        for (index, range) in ranges.enumerated() {
            do throws(RequestError) {
                let kept = try retained(range, maximumBytes: left / (ranges.count - index))
                left = max(0, left - kept.bytes)
                found.append(.success(kept))
            } catch {
                found.append(.failure(error))
            }
            // A large request must not make a sample late.
            await Task.yield()
        }
        return found
    }

    /// What is kept of the samples that are asked for.
    /// - Parameter maximumBytes: about how many bytes of them a reply may bring.
    func retained(
        _ request: SamplesReplay.Range, maximumBytes: Int = SamplingEngine.maximumReplyBytes
    ) throws(RequestError) -> Retained {
        let stream = try known(StreamName(device: request.device, stream: request.stream))
        guard request.epoch == epoch else {
            throw RequestError(
                .unknownEpoch,
                "the publisher started anew since epoch '\(request.epoch.prefix(64))', and has only \(epoch)")
        }
        guard request.from >= 0, request.count > 0 else {
            throw RequestError(
                .invalidParameter,
                "from \(request.from) and count \(request.count) name no samples: give from 0 or more, count 1 or more")
        }
        let bytesPerByte = stream.isPacked ? 1 : Self.digitsPerByte
        let answer = retention.batches(
            of: stream.name, from: Int64(request.from), count: request.count, maximumBytes: maximumBytes / bytesPerByte)
        samplesReplayed += answer.count
        return Retained(
            answer: answer, encoder: stream.encoder, clock: .now, bytes: answer.bytes * bytesPerByte)
    }

    private func known(_ name: StreamName) throws(RequestError) -> PublishedStream {
        guard let stream = streams.first(where: { $0.name == name && $0.isKnown }) else {
            let names = streams.filter(\.isKnown).map(\.name.description).joined(separator: ", ")
            throw RequestError(
                .unknownStream, "there is no stream \(name); there \(names.isEmpty ? "is none yet" : "are \(names)")")
        }
        return stream
    }
}

extension RequestError {
    /// Why a stream could not be started.
    fileprivate init(_ error: PublisherError, of stream: StreamName) {
        let reason: Reason =
            switch error.code {
            case .alreadyRunning: .alreadyRunning
            case .finished: .finished
            case .invalidParameter: .invalidParameter
            default: .inputOutput
            }
        self.init(reason, "\(stream): \(error)")
    }
}
