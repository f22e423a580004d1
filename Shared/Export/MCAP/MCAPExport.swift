package import Files
import Messages

/// Writes one MCAP file for a session: each stream as JSON with a schema, `sensor_msgs/msg/Imu` for a device with an
/// accelerometer, gaps and events as messages.
///
/// The ROS messages are also written to a file of their own, because rosbags opens no file that contains JSON with a schema.
package struct MCAPExport: ExportWriter {
    private let directory: ExportDirectory
    private let session: ExportedSession
    private let file: OutputFile
    private var writer: MCAPWriter
    private var topics = TopicNames(["/session/gaps", "/session/events"])
    private let gaps: Int
    private let events: Int
    private var gapCount: UInt32 = 0

    private var stream: ExportedStream?
    private var channel = 0
    /// The text before each value, concatenated, and the end of each.
    private var keys: [UInt8] = []
    private var keyEnds: [Int] = []
    private var kinds: [ExportedStream.Column.Kind] = []
    private var imu: Imu?
    /// The latest time so far, used for a sample without one.
    private var latest: Int64

    /// An accelerometer whose samples become ROS messages.
    private final class Imu {
        let channel: Int
        /// The channel in the ROS file.
        let rosChannel: Int
        let message: ImuMessage
        let axes: SIMD3<Int>
        /// Factor that converts a value to m/s².
        let scale: Double
        let rotation: RotationSource?

        init(
            channel: Int, rosChannel: Int, message: ImuMessage, axes: SIMD3<Int>, scale: Double,
            rotation: RotationSource?
        ) {
            self.channel = channel
            self.rosChannel = rosChannel
            self.message = message
            self.axes = axes
            self.scale = scale
            self.rotation = rotation
        }
    }

    /// Returns the rotation source of the stream's device.
    package typealias Companion = (ExportedStream) throws(RecordingError) -> RotationSource?

    /// The ROS file, created with its first message.
    private struct RosFile {
        let file: OutputFile
        var writer: MCAPWriter
        let schema: UInt16
        /// The schema's number in the main file.
        let allSchema: UInt16
    }

    private let companion: Companion
    /// For each device, the accelerometer that has the topic `imu`.
    private var imus: [String: StreamName] = [:]
    private let library: String
    private var ros: RosFile?

    /// - Parameter streams: all exported streams, in order.
    /// - Throws: `invalidParameter` if they need more topics than a file can have.
    package init(
        _ session: ExportedSession, _ streams: [ExportedStream], library: String, in directory: ExportDirectory,
        companion: @escaping Companion
    ) throws(RecordingError) {
        // Those of gaps and events, one for each stream, and a second one for each accelerometer. Schemas are fewer.
        let count = 2 + streams.count + streams.count(where: Self.isAccelerometer)
        guard count <= UInt16.max else {
            throw RecordingError(
                .invalidParameter, action: "export \(session.name)",
                reason: "it needs \(count) topics, and an MCAP file has room for \(UInt16.max)",
                advice: "Choose some of its streams with --streams, and export the others to other directories.")
        }
        self.directory = directory
        self.session = session
        self.companion = companion
        self.library = library
        latest = session.clock == .utc ? session.startDate : 0
        file = try directory.create("\(session.name).mcap")
        writer = MCAPWriter(profile: "ros2", library: library, to: &file.buffer)
        let gapSchema = writer.addSchema(
            "holdfast.gap", encoding: "jsonschema",
            JSONSchema.text(
                title: "holdfast.gap",
                [
                    ("stream", "string", nil), ("reason", "string", nil), ("epoch", "string", nil),
                    ("from", "integer", "the first absent sample"),
                    ("count", "integer", "absent samples; 0 if that is unknown"),
                    ("seconds", "number", "from the sample before to the sample behind"),
                ]), to: &file.buffer)
        gaps = writer.addChannel("/session/gaps", schema: gapSchema, encoding: "json", to: &file.buffer)
        let eventSchema = writer.addSchema(
            "holdfast.event", encoding: "jsonschema",
            JSONSchema.text(title: "holdfast.event", [("event", "string", nil), ("step", "string", nil)]),
            to: &file.buffer)
        events = writer.addChannel("/session/events", schema: eventSchema, encoding: "json", to: &file.buffer)
        for name in streams.filter(Self.isAccelerometer).map(\.name)
        where imus[name.device] == nil || name.stream == "accelerometer" {
            imus[name.device] = name
        }
    }

    package var provenanceName: String { "\(session.name).mcap.provenance.json" }

    package func files(of stream: ExportedStream) -> [String] {
        ["\(session.name).mcap"] + (Self.isAccelerometer(stream) ? ["\(session.name)_ros2.mcap"] : [])
    }

    private static func isAccelerometer(_ stream: ExportedStream) -> Bool {
        stream.axes != nil && stream.unit.flatMap { AccelerationUnit($0) } != nil
            && ImuMessage.takes(streamNamed: stream.name.stream)
    }

    package mutating func begin(_ stream: ExportedStream) throws(RecordingError) {
        self.stream = stream
        let device = TopicNames.name(stream.name.device)
        let schema = writer.addSchema(
            stream.name.description, encoding: "jsonschema", JSONSchema.text(of: stream), to: &file.buffer)
        var metadata = [("device", stream.name.device), ("stream", stream.name.stream)]
        if let rate = stream.rate { metadata.insert(("rate", "\(rate)"), at: 1) }
        if let unit = stream.unit { metadata.append(("unit", unit)) }
        channel = writer.addChannel(
            topics.add("/\(device)/\(TopicNames.name(stream.name.stream))"), schema: schema, encoding: "json",
            metadata: metadata, to: &file.buffer)
        kinds = stream.columns.map(\.kind)
        var text = ByteBuffer(capacity: 512)
        keyEnds = stream.columns.enumerated().map { index, column in
            text.append(UInt8(ascii: index == 0 ? "{" : ","))
            text.append(jsonString: column.name)
            text.append(UInt8(ascii: ":"))
            return text.count
        }
        keys = text.withUnsafeBytes { Array($0) }
        imu = nil
        guard Self.isAccelerometer(stream), let axes = stream.axes,
            let unit = stream.unit.flatMap({ AccelerationUnit($0) })
        else { return }
        if ros == nil { ros = try beginRos() }
        guard var ros else { return }
        let name = topics.add("/\(device)/imu" + (imus[stream.name.device] == stream.name ? "" : "_"))
        let qos = [("offered_qos_profiles", "")]
        imu = Imu(
            channel: writer.addChannel(
                name, schema: ros.allSchema, encoding: "cdr", metadata: qos, to: &file.buffer),
            rosChannel: ros.writer.addChannel(
                name, schema: ros.schema, encoding: "cdr", metadata: qos, to: &ros.file.buffer),
            message: ImuMessage(frame: device), axes: SIMD3(axes[0], axes[1], axes[2]),
            scale: AccelerationUnit.standardGravity / unit.perG,
            rotation: try companion(stream))
        self.ros = ros
    }

    private mutating func beginRos() throws(RecordingError) -> RosFile {
        let file = try directory.create("\(session.name)_ros2.mcap")
        var writer = MCAPWriter(profile: "ros2", library: library, to: &file.buffer)
        let schema = writer.addSchema(
            ImuMessage.schemaName, encoding: "ros2msg", ImuMessage.schema, to: &file.buffer)
        let allSchema = self.writer.addSchema(
            ImuMessage.schemaName, encoding: "ros2msg", ImuMessage.schema, to: &self.file.buffer)
        return RosFile(file: file, writer: writer, schema: schema, allSchema: allSchema)
    }

    @inline(__always)
    package mutating func append(_ row: SampleRow) {
        let time = row.time.map(date) ?? latest
        latest = time
        let logTime = UInt64(clamping: time)
        let sequence = UInt32(truncatingIfNeeded: row.sequence)
        writer.append(
            channel: channel, sequence: sequence, time: logTime, to: &file.buffer, at: file.written
        ) { message in
            if keys.isEmpty { message.append(UInt8(ascii: "{")) }
            keys.withUnsafeBytes { keys in
                var start = 0
                for index in kinds.indices {
                    message.append(UnsafeRawBufferPointer(rebasing: keys[start..<keyEnds[index]]))
                    start = keyEnds[index]
                    JSONCell.append(row, index, kinds[index], to: &message)
                }
            }
            message.append(UInt8(ascii: "}"))
        }
        guard let imu else { return }
        let acceleration =
            SIMD3(row.number(imu.axes[0]), row.number(imu.axes[1]), row.number(imu.axes[2])) * imu.scale
        let rotation = row.time.flatMap { imu.rotation?.rotation(at: $0) }
        writer.append(
            channel: imu.channel, sequence: sequence, time: logTime, to: &file.buffer, at: file.written
        ) { message in
            imu.message.append(time: time, acceleration: acceleration, rotation: rotation, to: &message)
        }
        guard let ros = ros?.file else { return }
        self.ros?.writer.append(
            channel: imu.rosChannel, sequence: sequence, time: logTime, to: &ros.buffer, at: ros.written
        ) { message in
            imu.message.append(time: time, acceleration: acceleration, rotation: rotation, to: &message)
        }
    }

    package mutating func append(_ absence: StreamBreak) {
        guard let stream else { return }
        let time = (absence.after ?? absence.before).map(date) ?? latest
        writer.append(
            channel: gaps, sequence: gapCount, time: UInt64(clamping: time), to: &file.buffer, at: file.written
        ) { message in
            message.append(utf8: #"{"stream":"#)
            message.append(jsonString: stream.name.description)
            message.append(utf8: #","reason":"#)
            message.append(jsonString: absence.reason)
            if let epoch = absence.epoch {
                message.append(utf8: #","epoch":"#)
                message.append(jsonString: epoch)
            }
            if let from = absence.from {
                message.append(utf8: #","from":"#)
                message.append(from)
            }
            message.append(utf8: #","count":"#)
            message.append(absence.count)
            if let after = absence.after, let before = absence.before {
                message.append(utf8: #","seconds":"#)
                Nanoseconds.append(before &- after, to: &message)
            }
            message.append(UInt8(ascii: "}"))
        }
        gapCount += 1
    }

    package mutating func writeIfFull() throws(RecordingError) {
        if let error = imu?.rotation?.error { throw error }
        try file.writeIfFull()
        try ros?.file.writeIfFull()
    }

    package mutating func end(_ stream: ExportedStream, _ walk: StreamWalk) throws(RecordingError) {
        if let error = imu?.rotation?.error { throw error }
        imu = nil
        self.stream = nil
    }

    package mutating func finish() throws(RecordingError) {
        for (number, event) in session.events.enumerated() {
            writer.append(
                channel: events, sequence: UInt32(number), time: UInt64(clamping: date(event.time)), to: &file.buffer,
                at: file.written
            ) { message in
                message.append(utf8: #"{"event":"#)
                message.append(jsonString: event.name)
                if let step = event.step {
                    message.append(utf8: #","step":"#)
                    message.append(jsonString: step)
                }
                if let stream = event.stream {
                    message.append(utf8: #","stream":"#)
                    message.append(jsonString: stream.description)
                }
                if let annotation = event.annotation { Self.append(annotation, event.duration, to: &message) }
                message.append(UInt8(ascii: "}"))
            }
        }
        writer.addMetadata(
            "session",
            [
                ("clock", session.clock.rawValue), ("session", session.name),
                ("startDate", WallTime(nanosecondsSince1970: session.startDate).utcText), ("task", session.task),
            ], to: &file.buffer, at: file.written)
        writer.finish(to: &file.buffer, at: file.written)
        try directory.finish(file)
        guard let file = ros?.file else { return }
        ros?.writer.finish(to: &file.buffer, at: file.written)
        try directory.finish(file)
    }

    private static func append(_ annotation: Annotation, _ duration: Int64, to message: inout ByteBuffer) {
        let texts = [("label", annotation.label), ("note", annotation.note)]
        for case (let name, let text?) in texts {
            message.append(utf8: #","\#(name)":"#)
            message.append(jsonString: text)
        }
        if annotation.to != nil {
            message.append(utf8: #","duration":"#)
            Nanoseconds.append(duration, to: &message)
        }
    }

    // MARK: Parts

    /// A time as written to messages: nanoseconds since 1970, or since the session's start.
    private func date(_ time: Int64) -> Int64 { session.clock == .utc ? session.startDate &+ time : time }
}
