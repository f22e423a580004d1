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
    /// Whether it has `RecordsFile`: texts, numbers, booleans, dates, nested values.
    var isOfRecords = false

    /// Five streams of two devices, with all that a log can meet: packed and not, one sample a message and many, three
    /// columns and more, records of any kind.
    static let usual = [
        StreamPlan(device: "phone", stream: "accelerometer", rate: 100, batch: 1),
        StreamPlan(device: "phone", stream: "deviceMotion", rate: 50, isPacked: true),
        StreamPlan(device: "left-wrist", stream: "accelerometer", rate: 1_000),
        StreamPlan(device: "left-wrist", stream: "gyro", rate: 400, batch: 20, isPacked: true),
        StreamPlan(device: "phone", stream: "events", rate: 100, batch: 5, isOfRecords: true),
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
    /// - Parameter records: what streams of records replay.
    static func configuration(_ streams: [StreamPlan], records: FilePath? = nil, seed: UInt64) -> String {
        let sections = streams.enumerated().map { index, stream in
            let batch = stream.batch.map { ",\"batch\":\($0)" } ?? ""
            let signal = "\(stream.signal.map { "\($0)," } ?? "noise:")seed=\(seed % 1_000_000 + UInt64(index))"
            let source =
                stream.recording.map { "\"replay\":\"\($0)\",\"loop\":true,\"unit\":\"g\"" }
                ?? (stream.isOfRecords ? records : nil).map { "\"replay\":\"\($0)\",\"loop\":true" }
                ?? "\"signal\":\"\(signal)\""
            return "{\"device\":\"\(stream.device)\",\"stream\":\"\(stream.stream)\",\"rate\":\(stream.rate)\(batch),"
                + "\"packed\":\(stream.isPacked),\(source)}"
        }
        return "{\"sensor-publisher\":{\"streams\":[\(sections.joined(separator: ",\n"))]}}\n"
    }
}
