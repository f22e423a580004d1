import Export
import Messages

/// Samples of a stream as messages for Foxglove: each as JSON, those of an accelerometer also as `sensor_msgs/msg/Imu`.
struct StreamMessages: ~Copyable {
    /// Messages of one kind.
    struct Batch {
        var bytes: [UInt8]
        /// Where each message ends.
        var ends: [Int]
    }

    private let columns: Int
    private let types: [FieldType]?
    /// The text before each value: `{"x":`, `,"y":` and so on.
    private let keys: [[UInt8]]
    /// How a sample becomes an `Imu` message; nil if the stream is not an accelerometer's.
    private let imu: (message: ImuMessage, axes: [Int], scale: Double)?
    /// When each sample was taken, in nanoseconds since 1970.
    private(set) var times: [Int64] = []
    private var json = ByteBuffer(capacity: 0)
    private var jsonEnds: [Int] = []
    private var imus = ByteBuffer(capacity: 0)
    private var imuEnds: [Int] = []

    /// - Parameter fields: including `uptime`, which is the first.
    init(_ stream: StreamDescription, fields: [String], types: [FieldType]?) {
        columns = fields.count
        self.types = types
        keys = fields.dropFirst().enumerated().map { index, name in
            var key = ByteBuffer(capacity: 32)
            key.append(UInt8(ascii: index == 0 ? "{" : ","))
            key.append(jsonString: name)
            key.append(UInt8(ascii: ":"))
            return key.withUnsafeBytes { Array($0) }
        }
        imu = Self.axes(of: stream, fields: fields, types: types).map { axes, unit in
            (ImuMessage(frame: stream.device), axes, AccelerationUnit.standardGravity / unit.perG)
        }
    }

    /// The columns of x, y and z, and their unit, if the stream is an accelerometer's.
    static func axes(
        of stream: StreamDescription, fields: [String], types: [FieldType]?
    ) -> ([Int], AccelerationUnit)? {
        let axes = ["x", "y", "z"].compactMap { fields.firstIndex(of: $0) }
        guard axes.count == 3, axes.allSatisfy({ types?[$0] ?? .number == .number }),
            ImuMessage.takes(streamNamed: stream.stream), let unit = stream.unit.flatMap({ AccelerationUnit($0) })
        else { return nil }
        return (axes, unit)
    }

    var byteCount: Int { json.count + imus.count }

    /// Appends rows of a batch, in order. If one can't be read, none is appended.
    mutating func append(_ rows: Range<Int>, of batch: ReceivedBatch) throws(MessageError) {
        let clock = try SampleBody.clock(at: batch.body.clock, in: batch.frame)
        let before = times.count
        do throws(MessageError) {
            if let packed = batch.packed {
                for row in rows {
                    let first = row * columns
                    for (index, key) in keys.enumerated() {
                        json.append(key)
                        json.append(numberOrNull: packed.packedNumber(first + index + 1))
                    }
                    end(at: clock.nanosecondsSince1970(atUptime: packed.packedNumber(first)))
                    if let imu {
                        end(SIMD3(imu.axes.map { packed.packedNumber(first + $0) }))
                    }
                }
            } else if let values = batch.body.values {
                var cells = SampleRows(batch.frame, values: values, columns: columns, types: types)
                while try cells.next() {
                    guard rows.contains(cells.rowCount - 1) else { continue }
                    for (index, key) in keys.enumerated() {
                        json.append(key)
                        let token = UnsafeRawBufferPointer(rebasing: batch.frame[cells.token(index + 1)])
                        // Non-finite values are spelled in quotes.
                        let isNumber = types?[index + 1] ?? .number == .number
                        if isNumber, token.first == UInt8(ascii: "\"") {
                            json.append(utf8: "null")
                        } else {
                            json.append(token)
                        }
                    }
                    end(at: clock.nanosecondsSince1970(atUptime: cells.number(0)))
                    if let imu {
                        end(SIMD3(cells.number(imu.axes[0]), cells.number(imu.axes[1]), cells.number(imu.axes[2])))
                    }
                }
            }
        } catch {
            truncate(to: before)
            throw error
        }
    }

    private mutating func end(at time: Int64) {
        json.append(utf8: keys.isEmpty ? "{}" : "}")
        jsonEnds.append(json.count)
        times.append(time)
    }

    private mutating func end(_ acceleration: SIMD3<Double>) {
        guard let imu, let time = times.last else { return }
        imu.message.append(time: time, acceleration: acceleration * imu.scale, rotation: nil, to: &imus)
        imuEnds.append(imus.count)
    }

    private mutating func truncate(to count: Int) {
        times.removeSubrange(count...)
        jsonEnds.removeSubrange(count...)
        json.truncate(to: jsonEnds.last ?? 0)
        if imu != nil { imuEnds.removeSubrange(count...) }
        imus.truncate(to: imuEnds.last ?? 0)
    }

    /// The samples as JSON.
    var jsonBatch: Batch { Batch(bytes: json.withUnsafeBytes { Array($0) }, ends: jsonEnds) }

    /// The samples as `Imu` messages; empty if the stream is not an accelerometer's.
    var imuBatch: Batch { Batch(bytes: imus.withUnsafeBytes { Array($0) }, ends: imuEnds) }
}
