import StepDetection

/// The share of the true steps that is missed, by placement and strictness: the basis of `StepError`.
struct MissedShares {
    let text: String

    init(_ recordings: [LabelledRecording], _ tables: [LearnedTable]) throws {
        var lines = ["placement | recordings | " + StepStrictness.allCases.map(\.rawValue).joined(separator: " | ")]
        let walked = recordings.filter { ($0.kind == .walk || $0.kind == .mixed) && $0.steps > 0 }
        for placement in SensorPlacement.allCases {
            let own = walked.filter { recording in
                switch placement {
                case .unknown: true
                case .phone: recording.placementClass == .body || recording.placementClass == .hand
                case .wrist: recording.placementClass == .wrist
                }
            }
            var cells = [placement.rawValue, "\(own.count)"]
            for strictness in StepStrictness.allCases {
                let settings = StepDetectorSettings(placement: placement, strictness: strictness)
                var sum = 0.0
                for recording in own {
                    let steps = Double(recording.steps)
                    let count = try recording.count(settings, tables)
                    sum += max(0, steps - Double(count.steps.count)) / steps
                }
                cells.append("\((1000 * sum / Double(max(1, own.count))).rounded() / 10)")
            }
            lines.append(cells.joined(separator: " | "))
        }
        text = lines.joined(separator: "\n")
    }
}
