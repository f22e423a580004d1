import ArgumentParser
import FoundationEssentials
import StepDetection
import TextInput

/// A table that `train.py` learned from all people except an eighth.
struct LearnedTable: Decodable {
    /// The number of parts into which people are divided.
    private static let parts = 8

    let weights: [Float]
    let squares: [Float]
    let constant: Float
    /// The constant and the weights of the mean log odds and of the length; absent before they are learned.
    let confidence: [Double]?

    static func read(_ path: String) throws -> [LearnedTable] {
        let tables = try JSONDecoder().decode([LearnedTable].self, from: Data(contentsOf: URL(filePath: path)))
        guard tables.count == parts else {
            throw ValidationError("\(path): has \(tables.count) tables, not \(parts): run train.py")
        }
        return tables
    }

    /// Makes a detector decide by this table.
    func apply(to thresholds: inout WalkingThresholds) {
        thresholds.likelihood = WalkingLikelihood(
            zip(weights, squares).map { (weight: $0, square: $1) }, constant: constant)
        if let confidence, confidence.count == 3 {
            thresholds.confidence = WalkingConfidence(
                constant: confidence[0], mean: confidence[1], length: confidence[2])
        }
    }
}

extension LabelledRecording {
    /// A detector whose table was learned without the recording's person.
    func detector(_ settings: StepDetectorSettings, _ tables: [LearnedTable]) -> StepDetector {
        var thresholds = WalkingThresholds(placement: settings.placement, strictness: settings.strictness)
        tables[leftOutPart].apply(to: &thresholds)
        return StepDetector(settings, thresholds)
    }

    /// Counts the steps with that detector.
    func count(_ settings: StepDetectorSettings, _ tables: [LearnedTable]) throws -> StepCount {
        var detector = detector(settings, tables)
        var count = StepCount()
        _ = try AccelerationFile.read(path) { count.add($0, to: &detector) }
        return count
    }
}
