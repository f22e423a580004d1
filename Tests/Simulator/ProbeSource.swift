import Foundation
import SampleSources

/// Samples identified by their values: the publisher's run and their own number.
struct ProbeSource: SampleSource {
    let fields: [String]
    let unit: String?
    let rate: Double?
    let description = "probe"

    private let epoch: Int
    /// Whether the samples also have the acceleration of a person who walks.
    private let isWalk: Bool
    private var count = 0

    init(rate: Double, epoch: Int, isWalk: Bool) {
        fields = isWalk ? ["x", "y", "magnitude"] : ["x", "y"]
        unit = isWalk ? "g" : nil
        self.isWalk = isWalk
        self.rate = rate
        self.epoch = epoch
    }

    mutating func next(into row: inout [Double]) -> Int64? {
        row.append(Double(epoch))
        row.append(Double(count))
        let time = Double(count) / (rate ?? 1)
        if isWalk { row.append(Walker.magnitude(at: time)) }
        count += 1
        return Int64((time * 1e9).rounded())
    }

    mutating func rewind() { count = 0 }
}
