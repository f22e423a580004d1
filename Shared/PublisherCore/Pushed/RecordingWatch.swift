import Messages
import SampleSources
import ServiceKit

/// A recorder's sessions, for people whose devices push: which sessions run, and why the last one failed.
struct RecordingWatch {
    private var sessions = RunningSessions(life: 10 * Nanoseconds.perSecond)
    /// Why a session could not be stored; nil if none failed since the last one began.
    private(set) var failure: String?

    mutating func note(_ event: RecordingEvent, at now: Int64) {
        if sessions.note(event, at: now) { failure = nil }
        if event.change == .failure, event.stream == nil { failure = event.reason ?? "session \(event.session) failed" }
    }

    /// The sessions that run, sorted.
    mutating func running(at now: Int64) -> [String] { sessions.names(at: now) }
}
