import StepDetection
import TextInput

/// A row for each counted step: recording, number of its bout, time, mean log odds, estimates. `train.py` learns
/// `WalkingConfidence` from this table.
struct BoutTable {
    private(set) var csv = ""

    init(
        _ recordings: [LabelledRecording], _ tables: [LearnedTable], _ placement: SensorPlacement,
        _ strictness: StepStrictness
    ) throws {
        let settings = StepDetectorSettings(placement: placement, strictness: strictness)
        for recording in recordings {
            var detector =
                tables.isEmpty ? StepDetector(settings) : recording.detector(settings, tables)
            var bout = 0
            var times: [Double] = []
            _ = try AccelerationFile.read(recording.path) { sample in
                detector.add(time: sample.x, x: sample.y, y: sample.z, z: sample.w) { event in
                    switch event {
                    case .began: bout += 1
                    case .step(let step): times.append(step.time)
                    case .ended: break
                    }
                }
                guard !times.isEmpty else { return }
                let odds = detector.odds
                for time in times { csv += "\(recording.name),\(bout),\(time),\(odds.mean),\(odds.estimates)\n" }
                times.removeAll(keepingCapacity: true)
            }
        }
    }
}
