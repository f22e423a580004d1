import Messages

/// A session that the laboratory has recorded.
struct SessionPlan: Sendable {
    let streams: [String]
    var format = "json"
    var root: String?
    var maximumFileSize: Int?
    var maximumFileAge: Double?

    /// What the step path begins with.
    static let task = "Lab"

    /// Four at once, with all that a recorder can be asked: every format, whole devices and single streams, rotation
    /// by size and by age.
    static let usual = [
        SessionPlan(streams: ["phone/"], maximumFileSize: 30_000),
        SessionPlan(streams: ["phone/accelerometer", "left-wrist/"], format: "csv", maximumFileAge: 3),
        SessionPlan(streams: ["left-wrist/"], format: "tsv"),
        SessionPlan(streams: ["left-wrist/gyro"], root: "dictionary", maximumFileSize: 50_000),
    ]

    func request(_ name: String) -> RecordingStart {
        RecordingStart(
            session: name, task: Self.task, step: "s0", streams: streams, format: format, root: root,
            maximumFileSize: maximumFileSize, maximumFileAge: maximumFileAge)
    }
}
