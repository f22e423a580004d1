package import Messages

/// Something that happened to a session, noted in each of its logs between the samples.
package struct Marker: Hashable, Sendable {
    package enum Event: Hashable, Sendable {
        case start
        case step
        case pause
        case resume
        case resumed
        case gap(Gap)
        /// The samples that follow do not follow on those before: another run of the publisher, or some were left out.
        case position
        /// Somebody noted something, at the marker's time; `timestampDate` is when that arrived.
        case annotation(label: String)
        case stop

        package var name: String {
            switch self {
            case .start: "start"
            case .step: "step"
            case .pause: "pause"
            case .resume: "resume"
            case .resumed: "resumed"
            case .gap: "gap"
            case .position: "position"
            case .annotation: "annotation"
            case .stop: "stop"
            }
        }
    }

    /// Which sample of an epoch comes next.
    package struct Position: Hashable, Sendable {
        package var epoch: String
        package var next: Int

        package init(epoch: String, next: Int) {
            self.epoch = epoch
            self.next = next
        }
    }

    package var event: Event
    /// When, in nanoseconds since the session's start.
    package var time: Int64
    /// When, ISO 8601 with zone.
    package var date: String
    package var stepPath: String
    /// What the samples after it are, where a file begins.
    package var description: SessionRecord.Log?
    /// Which samples come after it, where a file begins or a recorder continues. A gap says so itself.
    package var position: Position?

    package init(
        _ event: Event, time: Int64, date: String, stepPath: String, description: SessionRecord.Log? = nil,
        position: Position? = nil
    ) {
        self.event = event
        self.time = time
        self.date = date
        self.stepPath = stepPath
        self.description = description
        self.position = position
    }
}
