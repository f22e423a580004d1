package import Messages
package import Recording

/// A session as an export describes it.
package struct ExportedSession: Sendable {
    /// An event of the session, or of one of its streams.
    package struct Event: Hashable, Sendable {
        /// Nanoseconds since the session's start, on the recorder's clock.
        package var time: Int64
        package var name: String
        /// The step path after the event.
        package var step: String?
        /// The only stream that the event concerns; `nil` for all.
        package var stream: StreamName?
        /// An annotation, whose `from` is `time`.
        package var annotation: Annotation?

        /// A bout of walking, which begins at `time` in `stream`.
        package var bout: ExportedBout?

        /// The value in tables: an annotation's label, or the step.
        var value: String? { annotation?.label ?? step }

        /// Duration in nanoseconds; 0 for a moment.
        var duration: Int64 {
            bout?.duration
                ?? annotation.flatMap { note in
                    note.to.map { $0.nanosecondsSince1970 - note.from.nanosecondsSince1970 }
                } ?? 0
        }
    }

    package let name: String
    package let task: String
    /// Nanoseconds since 1970, on the recorder's clock.
    package let startDate: Int64
    package let clock: ExportClock
    package let events: [Event]

    /// - Parameters:
    ///   - annotations: without those that were replaced or withdrawn.
    ///   - bouts: counted bouts of walking.
    package init(
        _ record: SessionRecord, annotations: [Annotation] = [], bouts: [ExportedBout] = [], clock: ExportClock
    ) {
        name = record.session.text
        task = record.task
        startDate = record.startDate.nanosecondsSince1970
        self.clock = clock
        func path(_ step: String) -> String { SessionTimeline.path(task: record.task, step: step) }
        var events = [Event(time: 0, name: "start", step: path(record.step))]
        for change in record.changes {
            events.append(
                Event(
                    time: Nanoseconds.from(seconds: change.timestamp) ?? 0, name: change.event.name,
                    step: change.step.map(path), stream: change.stream))
        }
        for date in record.restarts {
            events.append(Event(time: date.nanosecondsSince1970 - startDate, name: "resumed", step: nil))
        }
        for annotation in annotations {
            events.append(
                Event(
                    time: annotation.from.nanosecondsSince1970 - startDate, name: "annotation",
                    stream: annotation.stream, annotation: annotation))
        }
        events += bouts.map { Event(time: $0.start, name: "walking", stream: $0.stream, bout: $0) }
        if let end = record.endDate {
            events.append(Event(time: end.nanosecondsSince1970 - startDate, name: "stop", step: nil))
        }
        self.events = events.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
            .map(\.element)
    }

    /// A time as text for the export's tables.
    package func text(of time: Int64) -> String {
        var buffer = ByteBuffer(capacity: 64)
        if clock == .utc {
            var date = DateText()
            date.append(startDate &+ time, to: &buffer)
        } else {
            Nanoseconds.append(time, to: &buffer)
        }
        return buffer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    /// A line of a tab-separated table.
    func line(_ fields: [String?], absent: String = "") -> String {
        fields.map { field in
            field.map { TableText.quoted($0, delimiter: UInt8(ascii: "\t")) } ?? absent
        }.joined(separator: "\t") + "\n"
    }
}
