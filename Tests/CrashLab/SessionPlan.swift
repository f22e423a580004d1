import Messages

/// A session that the laboratory requests.
struct SessionPlan: Sendable {
    let streams: [String]
    var format = "json"
    var root: String?
    var maximumFileSize: Int?
    var maximumFileAge: Double?

    /// The beginning of the step path.
    static let task = "Lab"

    /// Four concurrent sessions that cover all requests: every format, whole devices and single streams, rotation by size and by
    /// age.
    static let usual = [
        SessionPlan(streams: ["phone/"], maximumFileSize: 30_000),
        SessionPlan(streams: ["phone/accelerometer", "phone/events", "left-wrist/"], format: "csv", maximumFileAge: 3),
        SessionPlan(streams: ["left-wrist/"], format: "tsv"),
        SessionPlan(streams: ["left-wrist/gyro"], root: "dictionary", maximumFileSize: 50_000),
    ]

    /// Sessions that together have all of `StreamPlan.many`, some of them twice, in two formats.
    static func many(_ count: Int) -> [SessionPlan] {
        func wearers(_ remainder: Int) -> [String] {
            (0..<(count + 9) / 10).filter { $0 % 2 == remainder }.map { "\(StreamPlan.wearer($0))/" }
        }
        return [
            SessionPlan(streams: wearers(0)),
            SessionPlan(streams: [wearers(0)[0]], root: "dictionary", maximumFileSize: 30_000),
            SessionPlan(streams: wearers(1), format: "csv", maximumFileSize: 60_000),
            SessionPlan(streams: [wearers(1)[0]], format: "tsv", maximumFileAge: 2),
        ]
    }

    func request(_ name: String) -> RecordingStart {
        RecordingStart(
            session: name, task: Self.task, step: "s0", streams: streams, format: format, root: root,
            maximumFileSize: maximumFileSize, maximumFileAge: maximumFileAge)
    }
}
