package import Messages

/// A stream as a `_motion.tsv` of Motion-BIDS: no header; the seconds since the first sample, then the stream's numbers with
/// their digits as recorded. `n/a` for values that are not numbers.
package struct MotionTable {
    /// A line of `_channels.tsv`.
    package struct Channel: Hashable, Sendable {
        package var name: String
        package var component: String
        package var type: String
        package var trackedPoint: String
        package var units: String
    }

    private let numbers: [Int]
    private var first: Int64?

    package init(_ stream: ExportedStream) { numbers = stream.numbers }

    /// Describes the columns of the table, in order.
    package static func channels(of stream: ExportedStream) -> [Channel] {
        let latency = Channel(name: "latency", component: "n/a", type: "LATENCY", trackedPoint: "n/a", units: "s")
        let names = stream.names(beside: latency.name)
        let columnUnits = stream.columnUnits
        return [latency]
            + stream.numbers.map { index in
                let name = stream.columns[index].name
                let (type, units) = kind(of: columnUnits[index])
                let component = ["x", "y", "z"].contains(name) ? name : "n/a"
                let quaternion = ["qx": "quat_x", "qy": "quat_y", "qz": "quat_z", "qw": "quat_w"][name]
                return Channel(
                    name: names[index], component: quaternion ?? component,
                    type: quaternion != nil ? "ORNT" : component == "n/a" ? "MISC" : type,
                    trackedPoint: stream.name.device, units: units)
            }
    }

    private static func kind(of unit: String?) -> (type: String, units: String) {
        if let acceleration = unit.flatMap({ AccelerationUnit($0) }) {
            return ("ACCEL", acceleration == .g ? "g" : "m/s^2")
        }
        if let rotation = unit.flatMap({ RotationUnit($0) }) { return ("GYRO", rotation.rawValue) }
        switch unit {
        case "uT", "µT", "μT": return ("MAGN", "uT")
        default: return ("MISC", unit ?? "n/a")
        }
    }

    /// Appends a sample; a sample without a time is skipped.
    @inline(__always)
    package mutating func append(_ row: SampleRow, to buffer: inout ByteBuffer) {
        guard let time = row.time else { return }
        let first = first ?? time
        self.first = first
        Nanoseconds.append(time &- first, to: &buffer)
        for index in numbers {
            buffer.append(UInt8(ascii: "\t"))
            let cell = row.cell(index)
            if let byte = cell.first,
                byte == UInt8(ascii: "-") && cell.count > 1 && cell[1] &- UInt8(ascii: "0") < 10
                    || byte &- UInt8(ascii: "0") < 10
            {
                buffer.append(cell)
            } else {
                buffer.append(utf8: "n/a")
            }
        }
        buffer.append(UInt8(ascii: "\n"))
    }
}
