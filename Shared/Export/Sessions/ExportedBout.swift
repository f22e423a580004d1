import Files
package import Messages
import Recording
import StepDetection
import StepRecordings

/// A bout of walking in a stream, as exported.
package struct ExportedBout: Hashable, Sendable {
    package var stream: StreamName
    /// Nanoseconds since the session's start, on the recorder's clock unless the publishers' own times are kept.
    package var start: Int64
    /// Nanoseconds from the first step to the last.
    package var duration: Int64
    package var steps: Int
    /// Probability that this is walking, from 0 to 1.
    package var confidence: Double
    package var gait: GaitMeasures

    /// Counts the steps in a session's streams of these names, as `step-counter count` does.
    /// - Parameter alignments: the alignments of the publishers' clocks, by epoch; empty to keep the publishers' own times.
    static func bouts(
        of session: SessionDirectory, _ record: SessionRecord, streams: [String], placement: SensorPlacement,
        _ alignments: [String: ClockAlignment]
    ) throws(RecordingError) -> [ExportedBout] {
        var bouts: [ExportedBout] = []
        let recordings = try CountedRecording.recordings(
            ofSession: session.directory.path, streams: streams, StepDetectorSettings(placement: placement))
        for counted in recordings {
            guard let stream = counted.stream,
                let log = record.logs.first(where: { $0.device == stream.device && $0.stream == stream.stream })
            else { continue }
            bouts += counted.bouts.map { bout in
                let start = recorderTime(bout.start, log, record, alignments)
                return ExportedBout(
                    stream: stream, start: start, duration: recorderTime(bout.end, log, record, alignments) - start,
                    steps: bout.steps, confidence: bout.confidence, gait: bout.gait)
            }
        }
        return bouts
    }

    private static func recorderTime(
        _ seconds: Double, _ log: SessionRecord.Log, _ record: SessionRecord, _ alignments: [String: ClockAlignment]
    ) -> Int64 {
        let time = Nanoseconds.from(seconds: seconds) ?? 0
        var alignment = log.alignment(at: time, record, alignments)
        return alignment.recorderTime(of: time)
    }
}
