/// The layout of an IIO device's scan: the values of its enabled channels at one moment, as its buffer returns them.
///
/// Channels are in the order of their indexes, each at a multiple of its size, and the scan ends at a multiple of the largest
/// size. The bytes in between are padding, with arbitrary content (Linux, drivers/iio/industrialio-buffer.c,
/// `iio_compute_scan_bytes`).
package struct IIOScan: Hashable, Sendable {
    /// The channel name of the time in nanoseconds.
    package static let timestamp = "timestamp"

    package struct Channel: Hashable, Sendable {
        /// The name without `in_`: `accel_x`.
        package let name: String
        /// The position in the order of channels; not a byte offset.
        package let index: Int
        package let type: IIOChannelType
        /// The value is (raw + offset) × scale.
        package let scale: Double
        package let offset: Double

        package init(_ name: String, index: Int, type: IIOChannelType, scale: Double = 1, offset: Double = 0) {
            self.name = name
            self.index = index
            self.type = type
            self.scale = scale
            self.offset = offset
        }
    }

    /// Three fields that are rotated together.
    private struct Rotation: Hashable {
        /// The indexes of the fields x, y, z.
        let fields: [Int]
        let matrix: [Double]
    }

    /// The channels in the order of the scan, with the time.
    private let channels: [(channel: Channel, at: Int)]
    private let rotations: [Rotation]
    private let timePlace: Int
    private let timeType: IIOChannelType
    /// The bytes of a scan.
    package let size: Int
    /// The names of the values, without the time. A channel with several values has a name for each, such as `rot_quaternion.0`.
    package let fields: [String]

    package static func == (one: IIOScan, other: IIOScan) -> Bool {
        one.channels.map(\.channel) == other.channels.map(\.channel) && one.rotations == other.rotations
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(channels.map(\.channel)) }

    /// - Parameter matrices: the mount matrices, row by row, by kind: `accel`. They rotate x, y and z if all three are present.
    /// - Throws: `invalidInput` for channels without a time, or with nothing else.
    package init(_ channels: [Channel], matrices: [String: [Double]] = [:]) throws(PublisherError) {
        var places: [(channel: Channel, at: Int)] = []
        var (end, largest) = (0, 1)
        for channel in channels.sorted(by: { $0.index < $1.index }) {
            let place = Self.aligned(end, to: channel.type.size)
            places.append((channel, place))
            end = place + channel.type.size
            largest = max(largest, channel.type.size)
        }
        guard let time = places.first(where: { $0.channel.name == Self.timestamp }), time.channel.type.size == 8 else {
            throw PublisherError(
                .invalidInput,
                "the device gives its samples no time (in_timestamp of 64 bits): without it nothing shows what is lost")
        }
        guard places.count > 1 else {
            throw PublisherError(.invalidInput, "the device has no channels besides the time")
        }
        var fields: [String] = []
        for (channel, _) in places where channel.name != Self.timestamp {
            fields +=
                channel.type.count == 1 ? [channel.name] : (0..<channel.type.count).map { "\(channel.name).\($0)" }
        }
        self.channels = places
        self.fields = fields
        size = Self.aligned(end, to: largest)
        timePlace = time.at
        timeType = time.channel.type
        rotations = matrices.sorted { $0.key < $1.key }.compactMap { kind, matrix in
            let axes = ["x", "y", "z"].compactMap { fields.firstIndex(of: "\(kind)_\($0)") }
            return axes.count == 3 && matrix.count == 9 ? Rotation(fields: axes, matrix: matrix) : nil
        }
    }

    private static func aligned(_ place: Int, to size: Int) -> Int { (place + size - 1) / size * size }

    /// Appends the values of a scan, one for each field, scaled and rotated.
    /// - Parameter scan: `size` bytes.
    /// - Returns: the scan's time in nanoseconds.
    package func decode(_ scan: some RandomAccessCollection<UInt8>, into values: inout [Double]) -> Int64 {
        let first = values.count
        for (channel, place) in channels where channel.name != Self.timestamp {
            for number in 0..<channel.type.count {
                let raw = Self.bytes(scan, from: place + number * channel.type.bytes, count: channel.type.bytes)
                values.append((channel.type.value(raw) + channel.offset) * channel.scale)
            }
        }
        for rotation in rotations {
            let raw = rotation.fields.map { values[first + $0] }
            for (row, field) in rotation.fields.enumerated() {
                values[first + field] = (0..<3).reduce(0) { $0 + rotation.matrix[3 * row + $1] * raw[$1] }
            }
        }
        return timeType.integer(Self.bytes(scan, from: timePlace, count: timeType.bytes))
    }

    private static func bytes<Bytes: RandomAccessCollection<UInt8>>(
        _ scan: Bytes, from place: Int, count: Int
    ) -> Bytes.SubSequence {
        let start = scan.index(scan.startIndex, offsetBy: place)
        return scan[start..<scan.index(start, offsetBy: count)]
    }

    /// Decodes the whole scans at the beginning of `bytes`, and removes them.
    package func rows(takingFrom bytes: inout [UInt8], named fields: [String]) -> PushedRows {
        var rows = PushedRows(fields: fields)
        var values: [Double] = []
        let end = bytes.count / size * size
        for start in stride(from: 0, to: end, by: size) {
            values.removeAll(keepingCapacity: true)
            let time = decode(bytes[start..<start + size], into: &values)
            rows.append(values, time: time)
        }
        bytes.removeFirst(end)
        return rows
    }
}
