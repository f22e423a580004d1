import Files
import FoundationEssentials
import Messages
import Recording
import SystemPackage

/// A session's directory, as the recorder writes it, with a walk in two streams of one device: an accelerometer's in several
/// files, and a gyroscope's.
struct WalkSession {
    let directory: FilePath
    /// The accelerometer's files, in order.
    let files: [String]

    /// - Parameters:
    ///   - unit: the stream's unit, in which the samples are written.
    ///   - lost: samples that the session lists as lost.
    init(
        in data: FilePath, format: LogFormat, root: JSONRoot = .array, unit: AccelerationUnit = .metresPerSecondSquared,
        step: String = "Walk, \"fast\"", lost: Int = 0
    ) throws {
        let identifier = try SessionIdentifier("s")
        let session = try SessionDirectory.create(identifier, in: data)
        directory = session.directory.path
        var record = SessionRecord(
            session: identifier, task: "", step: step, streams: ["phone/"], format: format, root: root,
            status: .running,
            startDate: WallTime(seconds: 1_795_219_200))
        let stamps = ["20261121000010", "20261121000020"]
        let accelerometer = LogName("phone_accelerometer")
        let names = [
            FinishedName(log: accelerometer, stamp: stamps[0], format: format).description,
            FinishedName(log: accelerometer, stamp: stamps[0], count: 1, format: format).description,
            FinishedName(log: accelerometer, stamp: stamps[1], format: format).description,
            "phone_accelerometer.\(format.rawValue)",
        ]
        files = names.map { session.directory.path.appending($0).string }
        let samples = Walk().samples
        for (index, file) in files.enumerated() {
            let part = samples[(index * samples.count / 4)..<((index + 1) * samples.count / 4)]
            try Self.text(part, format, root, unit: unit.rawValue, scale: unit.perG, step: step, isOpen: index == 3)
                .write(to: URL(filePath: file))
        }
        var log = SessionRecord.Log(
            name: accelerometer, device: "phone", stream: "accelerometer", fields: ["uptime", "x", "y", "z"],
            unit: unit.rawValue, file: names[3],
            files: names.prefix(3).map { FinishedFile(name: $0, bytes: 1, samples: samples.count / 4, sha256: "") })
        if lost > 0 { log.gaps = [Gap(epoch: "e", from: 5, count: lost, reason: .notRetained)] }
        let gyro = SessionRecord.Log(
            name: LogName("phone_gyro"), device: "phone", stream: "gyro", fields: ["uptime", "x", "y", "z"],
            unit: "rad/s", file: "phone_gyro.\(format.rawValue)")
        try Self.text(samples[...], format, root, unit: "rad/s", scale: 1, step: step, isOpen: true)
            .write(to: URL(filePath: session.directory.path.appending("phone_gyro.\(format.rawValue)").string))
        record.logs = [gyro, log]
        try session.write(record)
    }

    /// A file's bytes: the stream's description, samples and, unless the file is interrupted, its end.
    private static func text(
        _ samples: ArraySlice<SIMD4<Double>>, _ format: LogFormat, _ root: JSONRoot, unit: String, scale: Double,
        step: String, isOpen: Bool
    ) throws -> Data {
        var formatter = RecordFormatter(
            format: format, sensorType: "accelerometer", fields: ["uptime", "x", "y", "z"])
        var buffer = ByteBuffer(capacity: 0)
        let origin: Int64 = 1_000_000_000_000
        formatter.append(
            Marker(
                .step, time: Int64(samples.first.map { $0.x * 1e9 } ?? 0), date: "2026-11-21T00:00:00Z", stepPath: step,
                description: SessionRecord.Log(
                    name: LogName("phone_accelerometer"), device: "phone", stream: "accelerometer", fields: ["uptime"],
                    unit: unit, rate: 25)),
            origin: origin, to: &buffer)
        let rows = samples.map { [$0.x + 1000, $0.y * scale, $0.z * scale, $0.w * scale] }
        let packed = rows.flatMap {
            $0.flatMap { number in withUnsafeBytes(of: number.bitPattern.littleEndian, Array.init) }
        }
        packed.withUnsafeBytes { bytes in
            _ = formatter.append(
                packed: bytes, rows: 0..<rows.count, timeline: SessionTimeline(task: "", step: step), origin: origin,
                to: &buffer)
        }
        var text = buffer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        if format == .json {
            text.removeFirst(2)
            let opening = root == .array ? "[\n" : "{\n\"startDate\" : \"2026-11-21T00:00:00Z\",\n\"items\"     : ["
            let end = root == .array ? "\n]" : "\n]\n}"
            // A record interrupted by a power cut.
            text = opening + text + (isOpen ? ",\n{\"uptime\":10" : end)
        } else {
            text = formatter.header + text
        }
        return Data(text.utf8)
    }
}
