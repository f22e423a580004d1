import SystemPackage

/// A stream of the publisher.
struct StreamPlan: Sendable {
    let device: String
    let stream: String
    let rate: Int
    var batch: Int?
    var isPacked = false
    /// The stream's signal; nil for noise, in which no two samples are equal.
    var signal: String?
    /// A recording, in g, that the stream replays repeatedly in place of a signal.
    var recording: FilePath?
    /// Whether the stream replays `RecordsFile`: texts, numbers, booleans, dates, nested values.
    var isOfRecords = false

    /// Five streams of two devices that cover what a log can have: packed or not, one sample per message or many, three columns
    /// or more, records of any kind.
    static let usual = [
        StreamPlan(device: "phone", stream: "accelerometer", rate: 100, batch: 1),
        StreamPlan(device: "phone", stream: "deviceMotion", rate: 50, isPacked: true),
        StreamPlan(device: "left-wrist", stream: "accelerometer", rate: 1_000),
        StreamPlan(device: "left-wrist", stream: "gyro", rate: 400, batch: 20, isPacked: true),
        StreamPlan(device: "phone", stream: "events", rate: 100, batch: 5, isOfRecords: true),
    ]

    /// A higher load than a person's devices produce, for tests under load.
    static let heavy = [
        StreamPlan(device: "phone", stream: "accelerometer", rate: 20_000, batch: 100, isPacked: true),
        StreamPlan(device: "left-wrist", stream: "accelerometer", rate: 5_000, batch: 20),
    ]

    /// `count` streams, ten for each wearer: five messages per second of ten samples, half of them packed.
    static func many(_ count: Int) -> [StreamPlan] {
        (0..<count).map { index in
            StreamPlan(
                device: wearer(index / 10), stream: "sensor-\(index % 10)", rate: 50, batch: 10,
                isPacked: index.isMultiple(of: 2))
        }
    }

    /// The name of a device of `many`.
    static func wearer(_ number: Int) -> String { "wearer-\(number)" }

    /// The publisher's configuration file.
    /// - Parameter records: the file replayed by streams of records.
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
