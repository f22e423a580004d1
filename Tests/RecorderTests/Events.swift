import FoundationEssentials
import MessageBus
import Messages
import Synchronization
import TestSupport
import ZeroMQ

/// The events of a recorder, received from before the test begins.
final class Events: Sendable {
    private struct Heard {
        var recordings: [RecordingEvent] = []
        var segments: [SegmentFinished] = []
        var removals: [LogFileEvent] = []
        var isJoined = false
    }

    private static let probe = "probe"
    private let subscriber: Subscriber
    private let heard = Mutex(Heard())

    init(context: Context, thread: SocketThread, endpoint: String) async throws {
        subscriber = try Subscriber(context: context, thread: thread)
        try await subscriber.subscribe(to: TopicArea.recording)
        try await subscriber.subscribe(to: TopicArea.segment)
        try await subscriber.subscribe(to: TopicArea.log)
        try await subscriber.connect(to: endpoint)
    }

    /// Listens until the task is cancelled.
    func collect() async throws {
        while true {
            let batch = try await subscriber.next()
            try batch.withUnsafeMessages { messages in
                for message in 0..<messages.count {
                    let frames = try EventFrames(message, of: messages)
                    if frames.isIn(TopicArea.recording) {
                        let event = try frames.decode(RecordingEvent.self)
                        heard.withLock { $0.recordings.append(event) }
                    } else if frames.isIn(TopicArea.log) {
                        let event = try frames.decode(LogFileEvent.self)
                        heard.withLock { $0.removals.append(event) }
                    } else {
                        let event = try frames.decode(SegmentFinished.self)
                        heard.withLock { heard in
                            if event.session == Self.probe {
                                heard.isJoined = true
                            } else {
                                heard.segments.append(event)
                            }
                        }
                    }
                }
            }
        }
    }

    /// Publishes a probe until it is heard.
    func join(_ publish: (SegmentFinished) throws -> Void) async throws {
        let probe = SegmentFinished(
            source: "test", sequence: 0, session: Self.probe, log: "", path: "", bytes: 0, samples: 0, sha256: "")
        try await eventually("the subscription to the recorder") {
            try publish(probe)
            return heard.withLock { $0.isJoined }
        }
    }

    var recordings: [RecordingEvent] { heard.withLock { $0.recordings } }
    var segments: [SegmentFinished] { heard.withLock { $0.segments } }

    /// Waits for the first event of a removed file.
    func removal() async throws -> LogFileEvent {
        try await eventualValue("the event of a removal") { heard.withLock { $0.removals.first } }
    }

    /// Waits for an event of a session; events that were already received count too.
    @discardableResult
    func recording(
        _ change: RecordingEvent.Change, of session: String = "s",
        where matches: (RecordingEvent) -> Bool = { _ in true }
    ) async throws -> RecordingEvent {
        try await eventualValue("the event \(change.rawValue) of \(session)") {
            recordings.first { $0.session == session && $0.change == change && matches($0) }
        }
    }
}
