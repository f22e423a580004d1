import SampleSources

/// Rows that can be recognized by their values, at regular or irregular times, some of them out of order.
struct ScriptedSource: SampleSource {
    let fields = ["index", "noise"]
    let unit: String? = nil
    let rate: Double? = nil
    let description = "script"

    /// Nanoseconds between two samples.
    let interval: Int64
    let isRegular: Bool
    /// The number of samples; nil for no end.
    let length: Int?
    /// Whether the source fails after its last sample instead of ending.
    let fails: Bool
    private var index: Int64 = 0

    init(interval: Int64, isRegular: Bool, length: Int?, fails: Bool) {
        self.interval = interval
        self.isRegular = isRegular
        self.length = length
        self.fails = fails
    }

    mutating func next(into row: inout [Double]) throws(PublisherError) -> Int64? {
        if let length, index >= length {
            if fails { throw PublisherError(.invalidInput, "line \(index) is broken") }
            return nil
        }
        let noise = Noise(seed: 7, distribution: .uniform).value(index: index, channel: 0)
        row.append(Double(index))
        row.append(noise)
        defer { index += 1 }
        return max(0, index * interval + (isRegular ? 0 : Int64(noise * 3 * Double(interval))))
    }

    mutating func rewind() { index = 0 }

    /// The number of samples that a regular source has taken this long after its start.
    func count(after time: Int64) -> Int { time < 0 ? 0 : min(Int(time / interval) + 1, length ?? .max) }
}
