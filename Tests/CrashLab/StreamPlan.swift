import SystemPackage

/// A stream that the publisher makes.
struct StreamPlan: Sendable {
    let device: String
    let stream: String
    let rate: Int
    var batch: Int?
    var isPacked = false
    /// What it samples; noise if nothing is said, so that no two samples are the same.
    var signal: String?
    /// A recording that it samples in place of a signal, in g, again and again.
    var recording: FilePath?

    /// Four streams of two devices, with all that a log can meet: packed and not, one sample a message and many, three
    /// columns and more.
    static let usual = [
        StreamPlan(device: "phone", stream: "accelerometer", rate: 100, batch: 1),
        StreamPlan(device: "phone", stream: "deviceMotion", rate: 50, isPacked: true),
        StreamPlan(device: "left-wrist", stream: "accelerometer", rate: 1_000),
        StreamPlan(device: "left-wrist", stream: "gyro", rate: 400, batch: 20, isPacked: true),
    ]

    /// More than a person wears: for what must hold under load.
    static let heavy = [
        StreamPlan(device: "phone", stream: "accelerometer", rate: 20_000, batch: 100, isPacked: true),
        StreamPlan(device: "left-wrist", stream: "accelerometer", rate: 5_000, batch: 20),
    ]

    /// As many as are asked for, ten of each wearer's: five messages a second of ten samples, half of them packed.
    static func many(_ count: Int) -> [StreamPlan] {
        (0..<count).map { index in
            StreamPlan(
                device: wearer(index / 10), stream: "sensor-\(index % 10)", rate: 50, batch: 10,
                isPacked: index.isMultiple(of: 2))
        }
    }

    /// A device of `many`.
    static func wearer(_ number: Int) -> String { "wearer-\(number)" }

    /// The publisher's configuration file.
    static func configuration(_ streams: [StreamPlan], seed: UInt64) -> String {
        let sections = streams.enumerated().map { index, stream in
            let batch = stream.batch.map { ",\"batch\":\($0)" } ?? ""
            let signal = "\(stream.signal.map { "\($0)," } ?? "noise:")seed=\(seed % 1_000_000 + UInt64(index))"
            let source =
                stream.recording.map { "\"replay\":\"\($0)\",\"loop\":true,\"unit\":\"g\"" }
                ?? "\"signal\":\"\(signal)\""
            return "{\"device\":\"\(stream.device)\",\"stream\":\"\(stream.stream)\",\"rate\":\(stream.rate)\(batch),"
                + "\"packed\":\(stream.isPacked),\(source)}"
        }
        return "{\"sensor-publisher\":{\"streams\":[\(sections.joined(separator: ",\n"))]}}\n"
    }
}
