import Files
import Messages
import Recording

/// What a publisher or a relay still has of a session's samples, from which its gaps are filled.
///
/// Samples are asked for by epoch and number, as a recorder asks for them, and written as a recorder writes them. Nothing is believed
/// that does not fit: batches of another stream, run or columns, and samples beside the gap, are left out.
package struct BusReplays: Sendable {
    /// Samples of one request: more than an answer has.
    private static let maximumCount = 1 << 20
    /// Samples that may belong into one gap of which the number is not known. An answerer could send some without end.
    private static let maximumOpenCount = 1 << 30
    /// Notes that an error has.
    private static let maximumNotes = 5

    private let endpoint: String
    private let replies: any SampleReplies

    /// - Parameters:
    ///   - endpoint: where the requests are answered.
    ///   - replies: what sends them there.
    package init(from endpoint: String, by replies: any SampleReplies) {
        self.endpoint = endpoint
        self.replies = replies
    }

    /// Asks for what belongs into the gaps of one device, or of all.
    /// - Parameter scratch: where files are made; nil to make none.
    /// - Throws: `invalidParameter` if nothing came that belongs into one.
    func findings(
        for fillable: FillableSession, _ options: SessionFill.Options, _ scratch: Directory?, calls: FileCalls
    ) async throws(RecordingError) -> FillFindings {
        if let device = options.device { try fillable.check(device: device) }
        let devices = fillable.devicesWithGaps.filter { options.device.map([$0].contains) ?? true }
        guard !devices.isEmpty else {
            throw fillable.refusal("the device \(options.device ?? "") has no gaps", "Say another one with --device.")
        }
        var findings = FillFindings()
        var requests = ReplayRequests(to: endpoint, by: replies)
        var isOver = false
        for device in devices {
            requests.beginDevice()
            var added: [FillAddition.Stream] = []
            for (index, log) in fillable.record.logs.enumerated() where log.device == device && !log.gaps.isEmpty {
                var outcome = SessionFill.Stream(log)
                if !isOver {
                    var stream = StreamReplay(
                        index, try NumberedGaps(log, of: fillable.record, in: fillable.session), fillable.record,
                        scratch, calls)
                    isOver = try await fill(&stream, asking: &requests)
                    if let addition = try stream.finish() { added.append(addition) }
                    outcome = stream.outcome
                }
                findings.streams.append(outcome)
            }
            guard findings.streams.contains(where: { $0.name.device == device && $0.gaps > 0 }) else { continue }
            findings.additions.append(FillAddition(device: device, source: requests.source, streams: added))
        }
        guard !findings.additions.isEmpty else {
            let notes = Set(findings.streams.flatMap(\.notes)).sorted().prefix(Self.maximumNotes)
            throw fillable.refusal(
                "nothing came from \(endpoint) that belongs into a gap"
                    + (notes.isEmpty ? "" : ": \(notes.joined(separator: "; "))"),
                "Give --from the endpoint of a publisher that still runs, or of a relay whose servers keep the samples."
            )
        }
        return findings
    }

    /// Fills the gaps of a stream.
    /// - Returns: whether nothing is to be asked for any more, of any stream.
    private func fill(
        _ stream: inout StreamReplay, asking requests: inout ReplayRequests
    ) async throws(RecordingError) -> Bool {
        var endedEpochs: Set<String> = []
        for place in stream.places where !endedEpochs.contains(place.gap.epoch) {
            switch try await fill(place, of: &stream, asking: &requests)?.scope {
            case .everything: return true
            case .stream: return false
            case .epoch: endedEpochs.insert(place.gap.epoch)
            case .gap, nil: break
            }
        }
        return false
    }

    /// Fills a gap.
    /// - Returns: what ended that too early.
    private func fill(
        _ place: NumberedGap, of stream: inout StreamReplay, asking requests: inout ReplayRequests
    ) async throws(RecordingError) -> ReplayRequests.Refusal? {
        var gap = GapReplay(place)
        var refusal: ReplayRequests.Refusal?
        let end =
            place.isOpen
            ? min(place.numbers.upperBound, place.gap.from.addingClamped(Self.maximumOpenCount))
            : place.numbers.upperBound
        while gap.next < end, !gap.isComplete, place.problem == nil {
            let next = gap.next
            let name = stream.name
            let answer = await requests.ask(
                SamplesReplay(
                    device: name.device, stream: name.stream, epoch: place.gap.epoch, from: next,
                    count: min(Self.maximumCount, end - next)))
            guard case .reply(let reply, let frames) = answer else {
                if case .none(let reason) = answer { refusal = reason }
                break
            }
            try stream.take(frames, into: &gap)
            // What brings nothing would be asked for without end.
            guard gap.next == next, !gap.isComplete else { continue }
            if reply.count == 0, frames.isEmpty, reply.last < next { gap.noteEnd() }
            break
        }
        stream.finish(gap, refusal?.note)
        return refusal
    }
}
