package import Files
package import Messages
package import Recording
package import StepDetection
package import SystemPackage
package import TextInput

/// A recording and its steps, as printed by `count`. Times are seconds on the recording's clock.
package struct CountedRecording: Encodable {
    /// A bout of walking and its gait.
    package struct Bout: Encodable {
        package let start: Double
        package let end: Double
        package let steps: Int
        /// The probability that it is walking, from 0 to 1.
        package let confidence: Double
        package let gait: GaitMeasures

        init(_ bout: StepCount.Bout, _ gait: GaitMeasures) {
            start = bout.start
            end = bout.end
            steps = bout.steps
            confidence = bout.confidence
            self.gait = gait
        }
    }

    /// The path of the recording.
    let recording: String
    package let stream: StreamName?
    package let numberOfSteps: Int
    /// Steps a second while walking.
    let cadence: Double?
    /// The times of the first and the last sample.
    let start: Double?
    let end: Double?
    let samples: Int
    /// Rows that were neither samples nor markers.
    let leftOut: Int
    /// How often counting restarted after more than a second without a sample.
    let gaps: Int
    /// The share of the time from the first to the last sample that was counted, from 0 to 1.
    package let coverage: Double?
    /// The expected errors in the number of steps.
    package let expectedError: StepError
    /// Of all bouts together.
    package let gait: GaitMeasures
    package let bouts: [Bout]
    let steps: [Step]
    /// For a session's recording; absent if there are no annotations.
    let annotations: [CountedAnnotation]?

    /// Counts the steps in a recording.
    /// - Parameter perG: 1 g in the file's unit; nil to use the unit in the file, or to determine it from the samples.
    package init(
        counting input: CountInput, perG: Double? = nil, _ settings: StepDetectorSettings
    ) throws(TextInputError) {
        let count = try StepCount(input, perG: perG, placement: settings.placement, strictness: settings.strictness)
        self.init(input, count, settings)
    }

    /// Counts the steps in a session's streams of these names, as given with `--count-steps`.
    /// - Throws: `notFound` if there is no such stream; `unreadable` if a stream has no accelerations.
    package static func recordings(
        ofSession path: FilePath, streams: [String], _ settings: StepDetectorSettings = StepDetectorSettings()
    ) throws(RecordingError) -> [CountedRecording] {
        var recordings: [CountedRecording] = []
        for input in try CountInput.recordings(inSession: path, streams: streams) {
            do throws(TextInputError) {
                recordings.append(try CountedRecording(counting: input, settings))
            } catch {
                throw RecordingError(
                    .unreadable, action: "count steps in", path: path, reason: "\(error)",
                    advice: "Name streams of accelerations with --count-steps, or leave it out.")
            }
        }
        return recordings
    }

    /// - Parameter settings: the settings with which the steps were counted.
    package init(_ input: CountInput, _ count: StepCount, _ settings: StepDetectorSettings) {
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
        coverage = count.coverage
        expectedError = StepError(steps: count.steps.count, expected: count.expected, settings)
        let times = count.steps.map(\.time)
        var rest = times[...]
        var all = GaitSummary()
        bouts = count.bouts.map { bout in
            var summary = GaitSummary()
            summary.add(bout: rest.prefix(bout.steps))
            rest = rest.dropFirst(bout.steps)
            all.add(summary)
            return Bout(bout, summary.measures)
        }
        gait = all.measures
        annotations = input.annotations.isEmpty ? nil : input.annotations.map { $0.counting(times) }
    }

    private var names: [String] { [recording, stream?.description ?? ""] }

    /// The gait columns of a table: in seconds; the variability is a share of the mean.
    package static let gaitColumns = [
        "walkingTime", "stepTime", "strideTime", "strideTimeVariability", "strides",
    ]

    package static func row(of gait: GaitMeasures) -> [String] {
        [gait.walkingTime, gait.stepTime, gait.strideTime, gait.strideTimeVariability].map(number)
            + ["\(gait.strides)"]
    }

    /// The columns of a table for the steps that are expected to be wrong.
    package static let errorColumns = ["falseSteps", "missedSteps"]

    package static func row(of error: StepError?) -> [String] {
        [error?.falseSteps, error?.missedSteps].map(number)
    }

    private static func number(_ number: Double?) -> String { number.map { "\($0)" } ?? "" }

    /// A few figures for each recording, for people.
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
                ] + gaitColumns + ["coverage"] + errorColumns,
                rows: recordings.map { recording in
                    recording.names + [
                        number(recording.start), number(recording.end), "\(recording.numberOfSteps)",
                        number(recording.cadence), "\(recording.bouts.count)", "\(recording.samples)",
                        "\(recording.leftOut)", "\(recording.gaps)",
                    ] + row(of: recording.gait) + [number(recording.coverage)] + row(of: recording.expectedError)
                }, textColumns: [0, 1])
        case .bouts:
            ReportTable(
                columns: ["recording", "stream", "start", "end", "steps", "cadence"] + gaitColumns + ["confidence"],
                rows: recordings.flatMap { recording in
                    recording.bouts.map {
                        recording.names + ["\($0.start)", "\($0.end)", "\($0.steps)", number($0.gait.cadence)]
                            + row(of: $0.gait) + [number($0.confidence)]
                    }
                }, textColumns: [0, 1])
        case .steps:
            ReportTable(
                columns: ["recording", "stream", "time", "creditedAt", "cadence", "confidence"],
                rows: recordings.flatMap { recording in
                    recording.steps.map {
                        recording.names + ["\($0.time)", "\($0.creditedAt)", "\($0.cadence)", number($0.confidence)]
                    }
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
