import SampleSources
import TestSupport
import Testing

/// Scans of Linux IIO in the kernel's layout.
@Suite(.timeLimit(.minutes(1)))
struct IIOScanTests {
    /// All possible types without repeats: each byte order, signedness, size, bit count and shift.
    private static let types = ["le:s", "le:u", "be:s", "be:u"].flatMap(types(beginning:))

    private static func types(beginning: String) -> [String] {
        var types: [String] = []
        for storage in [8, 16, 32, 64] {
            for bits in 1...storage {
                let shifts: Set<Int> = [0, (storage - bits) / 2, storage - bits]
                for shift in shifts.sorted() { types.append("\(beginning)\(bits)/\(storage)>>\(shift)") }
            }
        }
        return types
    }

    /// The bytes of a number as a driver would write them, with garbage in the surrounding bits.
    private static func encode(_ value: Int64, as type: IIOChannelType, garbage: UInt64) -> [UInt8] {
        let mask = ones(type.bits) << UInt64(type.shift)
        let word = (UInt64(bitPattern: value) << UInt64(type.shift)) & mask | garbage & ~mask
        let bytes = (0..<type.bytes).map { UInt8(truncatingIfNeeded: word >> (8 * UInt64($0))) }
        return type.isBigEndian ? bytes.reversed() : bytes
    }

    /// The smallest and the largest number, those around zero, and one in between.
    private static func values(of type: IIOChannelType, _ random: inout SplitMix) -> [Int64] {
        let ones = ones(type.bits)
        let drawn = random.next() & ones
        guard type.isSigned else { return [0, 1, Int64(bitPattern: ones), Int64(bitPattern: drawn)] }
        let (high, unused) = (Int64(ones >> 1), Int64(64 - type.bits))
        let between = Int64(bitPattern: drawn << UInt64(unused)) >> unused
        return [-high - 1, -1, 0, high, between]
    }

    private static func ones(_ bits: Int) -> UInt64 { bits == 64 ? .max : (1 << UInt64(bits)) - 1 }

    @Test func everyTypeGivesTheNumbersThatWereWritten() throws {
        var random = SplitMix(seed: 19)
        for text in Self.types {
            let type = try IIOChannelType(text)
            #expect(type.description == text)
            for value in Self.values(of: type, &random) {
                let bytes = Self.encode(value, as: type, garbage: random.next())
                #expect(type.integer(bytes) == value, "\(text) \(value)")
                let number = type.isSigned ? Double(value) : Double(UInt64(bitPattern: value))
                #expect(type.value(bytes) == number, "\(text) \(value)")
            }
        }
    }

    @Test func typesWithRepeatsAndWithoutShiftAreRead() throws {
        let quaternion = try IIOChannelType("le:s16/32X4>>0")
        #expect(quaternion.count == 4)
        #expect(quaternion.size == 16)
        #expect(quaternion.description == "le:s16/32X4>>0")
        #expect(try IIOChannelType("be:u24/32").shift == 0)
    }

    @Test(
        arguments: [
            "", "le", "me:s12/16>>4", "le:f32/32>>0", "le:s12", "le:s12/12>>0", "le:s0/8>>0", "le:s12/16>>5",
            "le:s12/16X0>>0",
            "le:s12/16>>4 ", "le:s12/16>>", "le:s17/16>>0", "le:s99999999999999999999/16>>0",
        ])
    func whatIsNoTypeIsRefused(text: String) {
        #expect(throws: PublisherError.self) { try IIOChannelType(text) }
    }

    /// Random devices: channels of any types in any order, and their scans, with garbage in the padding, in pieces of any size.
    @Test(arguments: 0..<50)
    func scansOfAnyDeviceAreDecoded(seed: Int) throws {
        var random = SplitMix(seed: UInt64(seed))
        func draw(_ range: Range<Int>) -> Int { range.lowerBound + Int(random.next() % UInt64(range.count)) }
        var channels: [IIOScan.Channel] = []
        let count = draw(1..<8)
        for number in 0..<count {
            var text = Self.types[draw(0..<Self.types.count)]
            let repeats = draw(0..<4) == 0 ? draw(2..<5) : 1
            if repeats > 1 { text = text.replacing(">>", with: "X\(repeats)>>") }
            channels.append(
                IIOScan.Channel(
                    "voltage\(number)", index: 3 * number + draw(0..<3), type: try IIOChannelType(text), scale: 0.5,
                    offset: -2))
        }
        channels.append(IIOScan.Channel(IIOScan.timestamp, index: 3 * count, type: try IIOChannelType("le:s64/64>>0")))
        let scan = try IIOScan(channels.reversed())

        var bytes: [UInt8] = []
        var expected: [[Double]] = []
        var times: [Int64] = []
        for _ in 0..<20 {
            let start = bytes.count
            var row: [Double] = []
            // Padding as the kernel inserts it, counted from the scan's start.
            func pad(to size: Int) {
                while (bytes.count - start) % size != 0 { bytes.append(UInt8(truncatingIfNeeded: random.next())) }
            }
            for channel in channels.dropLast() {
                pad(to: channel.type.size)
                for _ in 0..<channel.type.count {
                    let value = Self.values(of: channel.type, &random).last ?? 0
                    bytes += Self.encode(value, as: channel.type, garbage: random.next())
                    let number = channel.type.isSigned ? Double(value) : Double(UInt64(bitPattern: value))
                    row.append((number - 2) * 0.5)
                }
            }
            pad(to: 8)
            times.append(Int64(bitPattern: random.next()))
            bytes += Self.encode(times[times.count - 1], as: channels[count].type, garbage: 0)
            pad(to: channels.map(\.type.size).max() ?? 1)
            expected.append(row)
            #expect(bytes.count - start == scan.size)
        }

        var rows = PushedRows(fields: scan.fields)
        var rest: [UInt8] = []
        var place = 0
        while place < bytes.count {
            let end = min(bytes.count, place + draw(1..<3 * scan.size))
            rest += bytes[place..<end]
            place = end
            let next = scan.rows(takingFrom: &rest, named: scan.fields)
            for (row, time) in next.times.enumerated() {
                rows.append(next.values[row * scan.fields.count..<(row + 1) * scan.fields.count], time: time)
            }
        }
        #expect(rest.isEmpty)
        #expect(rows.times == times)
        #expect(rows.values == expected.flatMap(\.self))
    }

    /// The files of a BMI160's driver, with a matrix that turns x to y.
    @Test func aDevicesFilesSayWhatItsNumbersMean() throws {
        var texts = [
            "in_accel_scale": "0.002\n", "in_accel_x_offset": "10", "in_anglvel_scale": "0.5",
            "in_anglvel_z_scale": "0.25",
            "in_accel_mount_matrix": "0, -1, 0; 1, 0, 0; 0, 0, 1\n", "in_mount_matrix": "1, 0, 0; 0, 1, 0; 0, 0, 1",
            "in_accel_sampling_frequency": "100", "in_anglvel_sampling_frequency": "100",
            "in_accel_sampling_frequency_available": "25 100.000000 200\n",
            "scan_elements/in_timestamp_type": "le:s64/64>>0",
            "scan_elements/in_timestamp_index": "6", "scan_elements/in_timestamp_en": "1",
        ]
        for (index, name) in ["anglvel_x", "anglvel_y", "anglvel_z", "accel_x", "accel_y", "accel_z"].enumerated() {
            texts["scan_elements/in_\(name)_type"] = "le:s16/16>>0"
            texts["scan_elements/in_\(name)_index"] = "\(index)"
            texts["scan_elements/in_\(name)_en"] = "0\n"
        }
        let attributes = IIOAttributes(texts)
        #expect(
            attributes.channels == [
                "accel_x", "accel_y", "accel_z", "anglvel_x", "anglvel_y", "anglvel_z", "timestamp",
            ])
        let scan = try attributes.scan(of: attributes.channels)
        #expect(scan.fields == ["anglvel_x", "anglvel_y", "anglvel_z", "accel_x", "accel_y", "accel_z"])
        #expect(scan.size == 24)
        var bytes: [UInt8] = [
            2, 0, 4, 0, 8, 0, 0xE8, 3, 0xD0, 7, 0x18, 0xFC, 0xAA, 0xAA, 0xAA, 0xAA, 1, 0, 0, 0, 0, 0, 0, 0,
        ]
        let rows = scan.rows(takingFrom: &bytes, named: scan.fields)
        #expect(rows.times == [1])
        #expect(rows.values == [1, 2, 2, -4, 2.02, -2])
        #expect(IIOAttributes.published(scan.fields) == scan.fields)
        #expect(IIOAttributes.published(["accel_x", "accel_y", "accel_z"]) == ["x", "y", "z"])
        #expect(IIOAttributes.unit(of: scan.fields) == nil)
        #expect(IIOAttributes.unit(of: ["accel_x", "accel_z"]) == "m/s2")
        #expect(IIOAttributes.summary(of: scan.fields) == "anglvel rad/s, accel m/s2")
        #expect(attributes.rateFiles(of: ["accel_x", "timestamp"]) == ["in_accel_sampling_frequency"])
        #expect(attributes.typed(rate: 100, for: "in_accel_sampling_frequency") == "100.000000")
        #expect(attributes.typed(rate: 12.5, for: "in_accel_sampling_frequency") == "12.5")
        #expect(attributes.typed(rate: 400, for: "in_anglvel_sampling_frequency") == "400")
    }

    @Test func filesThatMeanNothingAreNamed() {
        func reason(_ texts: [String: String], _ channels: [String]) -> String {
            var all = texts
            all["scan_elements/in_timestamp_type"] = "le:s64/64>>0"
            all["scan_elements/in_timestamp_index"] = "9"
            do throws(PublisherError) {
                _ = try IIOAttributes(all).scan(of: channels)
                return ""
            } catch {
                return error.message
            }
        }
        let accel = ["scan_elements/in_accel_x_type": "le:s16/16>>0", "scan_elements/in_accel_x_index": "0"]
        #expect(reason([:], ["accel_x", "timestamp"]).contains("in_accel_x_type"))
        #expect(
            reason(["scan_elements/in_accel_x_type": "?", "scan_elements/in_accel_x_index": "0"], ["accel_x"]).contains(
                "'?'"))
        #expect(reason(accel, ["accel_x"]).contains("no time"))
        #expect(reason(accel, ["timestamp"]).contains("no channels"))
        #expect(reason(accel.merging(["in_accel_scale": "much"]) { $1 }, ["accel_x", "timestamp"]).contains("'much'"))
        #expect(reason(accel.merging(["mount_matrix": "1, 0"]) { $1 }, ["accel_x", "timestamp"]).contains("matrix"))
        #expect(reason(accel, ["accel_x", "timestamp"]) == "")
    }
}
