package import Messages
package import Recording
package import StepDetection

/// A recording and its steps, as `count` prints them. Times are seconds on the recording's clock.
package struct CountedRecording: Encodable {
    /// A bout of walking, and how it was walked.
    struct Bout: Encodable {
        let start: Double
        let end: Double
        let steps: Int
        let gait: GaitMeasures

        /// - Parameter times: of its steps.
        init(_ bout: StepCount.Bout, _ times: ArraySlice<Double>) {
            start = bout.start
            end = bout.end
            steps = bout.steps
            var summary = GaitSummary()
            summary.add(bout: times)
            gait = summary.measures
        }
    }

    /// A path.
    let recording: String
    let stream: StreamName?
    let numberOfSteps: Int
    /// Steps a second while walking.
    let cadence: Double?
    /// The times of the first and the last sample.
    let start: Double?
    let end: Double?
    let samples: Int
    /// Rows that were neither samples nor markers.
    let leftOut: Int
    /// How often counting began anew after more than a second without a sample.
    let gaps: Int
    /// Of all bouts together.
    let gait: GaitMeasures
    let bouts: [Bout]
    let steps: [Step]
    /// Of a session's recording; absent if there are no annotations.
    let annotations: [CountedAnnotation]?

    package init(_ input: CountInput, _ count: StepCount) {
        recording = input.name
        stream = input.stream
        numberOfSteps = count.steps.count
        cadence = count.cadence
        start = count.start
        end = count.end
        samples = count.samples
        leftOut = count.leftOut
        gaps = count.gaps
        steps = count.steps
        let times = count.steps.map(\.time)
        var rest = times[...]
        var summary = GaitSummary()
        bouts = count.bouts.map { bout in
            let own = rest.prefix(bout.steps)
            rest = rest.dropFirst(bout.steps)
            summary.add(bout: own)
            return Bout(bout, own)
        }
        gait = summary.measures
        annotations = input.annotations.isEmpty ? nil : input.annotations.map { $0.counting(times) }
    }

    private var names: [String] { [recording, stream?.description ?? ""] }

    /// What a table says of how somebody walked: seconds, and parts of the mean.
    package static let gaitColumns = [
        "walkingTime", "stepTime", "strideTime", "strideTimeVariability", "strides",
    ]

    package static func row(of gait: GaitMeasures) -> [String] {
        [gait.walkingTime, gait.stepTime, gait.strideTime, gait.strideTimeVariability].map(number)
            + ["\(gait.strides)"]
    }

    private static func number(_ number: Double?) -> String { number.map { "\($0)" } ?? "" }

    /// A few figures of each recording, for people.
    package static func overview(of recordings: [CountedRecording]) -> ReportTable {
        ReportTable(
            columns: ["recording", "stream", "seconds", "steps", "steps/s", "bouts"],
            rows: recordings.map { recording in
                let seconds = (recording.end ?? 0) - (recording.start ?? 0)
                return recording.names + [
                    TextColumns.decimal(seconds, places: 1), "\(recording.numberOfSteps)",
                    recording.cadence.map { TextColumns.decimal($0, places: 2) } ?? "-", "\(recording.bouts.count)",
                ]
            }, textColumns: [0, 1])
    }

    /// What the rows of a table are.
    package enum Rows: String, CaseIterable {
        case recordings, bouts, steps, annotations
    }

    /// All figures, with a row for each recording, bout, step or annotation.
    package static func table(of recordings: [CountedRecording], _ rows: Rows) -> ReportTable {
        switch rows {
        case .recordings:
            ReportTable(
                columns: [
                    "recording", "stream", "start", "end", "steps", "cadence", "bouts", "samples", "leftOut", "gaps",
                ] + gaitColumns,
                rows: recordings.map { recording in
                    recording.names + [
                        number(recording.start), number(recording.end), "\(recording.numberOfSteps)",
                        number(recording.cadence), "\(recording.bouts.count)", "\(recording.samples)",
                        "\(recording.leftOut)", "\(recording.gaps)",
                    ] + row(of: recording.gait)
                }, textColumns: [0, 1])
        case .bouts:
            ReportTable(
                columns: ["recording", "stream", "start", "end", "steps", "cadence"] + gaitColumns,
                rows: recordings.flatMap { recording in
                    recording.bouts.map {
                        recording.names + ["\($0.start)", "\($0.end)", "\($0.steps)", number($0.gait.cadence)]
                            + row(of: $0.gait)
                    }
                }, textColumns: [0, 1])
        case .steps:
            ReportTable(
                columns: ["recording", "stream", "time", "creditedAt", "cadence"],
                rows: recordings.flatMap { recording in
                    recording.steps.map { recording.names + ["\($0.time)", "\($0.creditedAt)", "\($0.cadence)"] }
                }, textColumns: [0, 1])
        case .annotations:
            ReportTable(
                columns: ["recording", "stream", "label", "from", "to", "steps", "note"],
                rows: recordings.flatMap { recording in
                    (recording.annotations ?? []).map { note in
                        recording.names + [
                            note.label, "\(note.from)", number(note.to), note.steps.map { "\($0)" } ?? "",
                            note.note ?? "",
                        ]
                    }
                }, textColumns: [0, 1, 2, 6])
        }
    }
}
