import Files
import Messages
import Recording

/// Fills a session's gaps from samples that a publisher or a relay still has.
///
/// Samples are requested by epoch and number, as by a recorder, and written as by a recorder. Replies are checked: batches of
/// another stream, run or columns, and samples outside the gap, are ignored.
package struct BusReplays: Sendable {
    /// The most samples in a gap of unknown length: otherwise replies could continue without end.
    private static let maximumOpenCount = 1 << 30
    /// The most notes in an error.
    private static let maximumNotes = 5

    private let endpoint: String
    private let replies: any SampleReplies

    /// - Parameters:
    ///   - endpoint: the endpoint to which requests are sent.
    ///   - replies: sends the requests.
    package init(from endpoint: String, by replies: any SampleReplies) {
        self.endpoint = endpoint
        self.replies = replies
    }

    /// Requests the samples for the gaps of one device, or of all.
    /// - Parameter scratch: the directory for new files; nil to make none.
    /// - Throws: `invalidParameter` if no sample for any gap was received.
    func findings(
        for fillable: FillableSession, _ options: SessionFill.Options, _ scratch: Directory?, calls: FileCalls
    ) async throws(RecordingError) -> FillFindings {
        if let device = options.device { try fillable.check(device: device) }
        let devices = fillable.devicesWithGaps.filter { options.device.map([$0].contains) ?? true }
        guard !devices.isEmpty else {
            throw fillable.refusal("the device \(options.device ?? "") has no gaps", "Choose another with --device.")
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
                "\(endpoint) sent no samples that belong in a gap"
                    + (notes.isEmpty ? "" : ": \(notes.joined(separator: "; "))"),
                "Give --from the endpoint of a publisher that is still running, or of a relay whose servers keep the samples."
            )
        }
        return findings
    }

    /// Fills the gaps of a stream.
    /// - Returns: whether to stop requesting samples, of any stream.
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
    /// - Returns: the refusal that ended it too early, if any.
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
            // All the rest, because a publisher may keep only its end.
            let answer = await requests.ask(
                SamplesReplay(
                    device: name.device, stream: name.stream, epoch: place.gap.epoch, from: next, count: end - next))
            guard case .reply(let reply, let frames) = answer else {
                if case .none(let reason) = answer { refusal = reason }
                break
            }
            try stream.take(frames, into: &gap)
            // A request without progress would be repeated without end.
            guard gap.next == next, !gap.isComplete else { continue }
            if reply.count == 0, frames.isEmpty, reply.last < next { gap.noteEnd() }
            break
        }
        stream.finish(gap, refusal?.note)
        return refusal
    }
}
