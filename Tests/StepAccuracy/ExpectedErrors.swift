import Messages
import StepDetection

/// Compares confidences and expected errors with the true errors.
struct ExpectedErrors {
    let text: String

    init(_ recordings: [LabelledRecording], _ counts: [String: StepCount], _ settings: StepDetectorSettings) {
        var lines = ["mean over recordings: expected false steps / found, expected missed share / found"]
        for row in AccuracyTable(recordings).rows {
            var (expected, found, expectedMissed, missed) = (0.0, 0.0, 0.0, 0.0)
            // Without true steps, there is nothing to compare.
            for recording in row.recordings {
                guard let count = counts[recording.name] else { continue }
                let steps = Double(count.steps.count)
                let error = StepError(steps: count.steps.count, expected: count.expected, settings)
                expected += error.falseSteps
                found += max(0, steps - Double(recording.steps))
                if recording.steps > 0 {
                    expectedMissed += error.missedSteps / max(1, steps - error.falseSteps + error.missedSteps)
                    missed += max(0, Double(recording.steps) - steps) / Double(recording.steps)
                }
            }
            let number = Double(row.recordings.count)
            lines.append(
                "\(row.name): \(Self.tenths(expected / number)) / \(Self.tenths(found / number)) steps"
                    + (row.isFalseSteps
                        ? ""
                        : ", \(Self.tenths(100 * expectedMissed / number)) / \(Self.tenths(100 * missed / number)) %"))
        }
        text = lines.joined(separator: "\n")
    }

    private static func tenths(_ number: Double) -> String { "\((number * 10).rounded() / 10)" }
}
