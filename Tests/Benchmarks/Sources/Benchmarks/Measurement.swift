struct Measurement {
    var samples: Int
    var seconds: Double
    var usage: Child.Usage
    /// CPU of all processes except sender and receiver, in cores: the background load.
    var otherCores = 0.0

    var samplesPerSecond: Double { Double(samples) / seconds }
    var rate: String { Text.decimal(samplesPerSecond / 1e6) }
    var cost: String { Text.decimal(usage.cpuSeconds / Double(samples) * 1e6) }
    var memory: String { Text.decimal(usage.peakMegabytes, places: 0) }

    /// The medians of rate, cost and memory, independently of each other.
    static func median(of runs: [Measurement]) -> Measurement {
        func middle(_ value: (Measurement) -> Double) -> Double { runs.map(value).sorted()[runs.count / 2] }
        return Measurement(
            samples: runs[0].samples, seconds: middle(\.seconds),
            usage: Child.Usage(
                cpuSeconds: middle(\.usage.cpuSeconds), peakMegabytes: middle(\.usage.peakMegabytes)),
            otherCores: middle(\.otherCores))
    }
}

enum Text {
    static func decimal(_ number: Double, places: Int = 2) -> String {
        guard places > 0 else { return "\(Int(number.rounded()))" }
        let hundredths = max(0, Int((number * 100).rounded()))
        return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}
