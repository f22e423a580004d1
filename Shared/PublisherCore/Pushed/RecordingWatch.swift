import Messages
import SampleSources

/// What a recorder says of its sessions, for people whose devices push: which run, and why the last one failed.
struct RecordingWatch {
    /// How long a session counts as running after an event of it, in nanoseconds: recorders publish one each second.
    private static let life = 10 * Nanoseconds.perSecond
    private static let maximumSessions = 1_000
    private static let over: Set<String> = ["finished", "cancelled", "failed"]

    /// When each session was heard of, on the monotonic clock.
    private var heard: [String: Int64] = [:]
    /// Why a session could not be stored since which no other began; nil if none failed.
    private(set) var failure: String?

    mutating func note(_ event: RecordingEvent, at now: Int64) {
        if event.change == .failure, event.stream == nil {
            heard[event.session] = nil
            failure = event.reason ?? "session \(event.session) failed"
        } else if event.report != nil || event.change == .discard || Self.over.contains(event.status) {
            heard[event.session] = nil
        } else if event.change != .annotation, heard[event.session] != nil || heard.count < Self.maximumSessions {
            if heard.updateValue(now, forKey: event.session) == nil { failure = nil }
        }
    }

    /// The sessions that run, sorted.
    mutating func running(at now: Int64) -> [String] {
        heard = heard.filter { now - $0.value < Self.life }
        return heard.keys.sorted()
    }
}
