import MessageBus
import Messages

/// A stream with a run of missing samples; frames name their stream and their first sample.
actor LostSamples: RecoveringStream {
    struct Lost: Hashable {
        let samples: Range<Int>
        let reason: Gap.Reason
    }

    nonisolated let name: StreamName
    private let endpoint: String
    private let heard: Bool
    private let gate: (@Sendable () async throws -> Void)?
    private let end: Int
    private(set) var next = 0
    private(set) var lost: [Lost] = []
    private(set) var taken = 0

    init(
        _ number: Int = 0, _ count: Int = 100, at endpoint: String, isHeard: Bool = true,
        gate: (@Sendable () async throws -> Void)? = nil
    ) {
        name = StreamName(device: "d\(number)", stream: "a")
        self.endpoint = endpoint
        heard = isHeard
        self.gate = gate
        end = count
    }

    func missing() async throws -> MissingSamples? {
        try await gate?()
        guard next < end else { return nil }
        let request = SamplesReplay(
            device: name.device, stream: name.stream, epoch: "e", from: next, count: end - next)
        return MissingSamples(request, at: endpoint)
    }

    func heardSince() -> Int64? { heard ? .min : nil }

    func take(_ reply: SamplesReplay.Reply, _ frames: ArraySlice<[UInt8]>, for request: SamplesReplay) -> Bool {
        let before = next
        for frame in frames {
            let words = String(decoding: frame.prefix(32), as: UTF8.self).split(separator: ":")
            guard words.count == 4, words[0] == name.device, let first = Int(words[1]), let count = Int(words[2]) else {
                continue
            }
            if first > next { giveUp(upTo: first, .notRetained) }
            let samples = (first..<first + count).clamped(to: next..<end)
            taken += samples.count
            next += samples.count
        }
        if next == before { giveUp(upTo: end, reply.count > 0 ? .malformed : .notRetained) }
        return next < end
    }

    func giveUp(_ request: SamplesReplay, reason: Gap.Reason) -> Bool {
        giveUp(upTo: end, reason)
        return next < end
    }

    private func giveUp(upTo sample: Int, _ reason: Gap.Reason) {
        lost.append(Lost(samples: next..<min(sample, end), reason: reason))
        next = min(sample, end)
    }
}
