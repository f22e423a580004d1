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
        /// The next samples do not continue the previous ones: they are of another run of the publisher, or some were left out.
        case position
        /// Somebody's note about the marker's time; `timestampDate` is when the note arrived.
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

    /// The next sample of an epoch.
    package struct Position: Hashable, Sendable {
        package var epoch: String
        package var next: Int

        package init(epoch: String, next: Int) {
            self.epoch = epoch
            self.next = next
        }
    }

    package var event: Event
    /// In nanoseconds since the session's start.
    package var time: Int64
    /// ISO 8601, with zone.
    package var date: String
    package var stepPath: String
    /// Describes the samples that follow: at the beginning of a file, when a recorder resumes, and in position markers of
    /// a stream whose unit or rate changes.
    package var description: SessionRecord.Log?
    /// The next sample, in a position marker, at the beginning of a file or when a recorder resumes. A gap has its own position.
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
