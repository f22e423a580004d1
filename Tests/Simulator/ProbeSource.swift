import Foundation
import SampleSources

/// Samples that are recognised by their values: the run of their publisher, and their own number.
struct ProbeSource: SampleSource {
    let fields = ["x", "y"]
    let unit: String? = nil
    let rate: Double?
    let description = "probe"

    private let epoch: Int
    private var count = 0

    init(rate: Double, epoch: Int) {
        self.rate = rate
        self.epoch = epoch
    }

    mutating func next(into row: inout [Double]) -> Int64? {
        row.append(Double(epoch))
        row.append(Double(count))
        defer { count += 1 }
        return Int64((Double(count) / (rate ?? 1) * 1e9).rounded())
    }

    mutating func rewind() { count = 0 }
}
