/// A `.gt3x` file, made record by record.
struct GT3XFile {
    /// 2026-11-21T10:00:00 by the device's clock.
    static let start: UInt32 = 1_795_255_200

    static func record(_ type: UInt8, _ second: UInt32, _ payload: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = [0x1E, type]
        bytes.append(little: second)
        bytes.append(little: UInt16(payload.count))
        bytes += payload
        bytes.append(~bytes.reduce(0, ^))
        return bytes
    }

    /// A second of 12-bit samples, y first.
    static func packed(_ second: UInt32, _ samples: [[Int]]) -> [UInt8] {
        record(0, second, bits(samples.flatMap { [$0[1], $0[0], $0[2]] }))
    }

    /// A second of 12-bit samples, x first: record type 27.
    static func packedInOrder(_ second: UInt32, _ samples: [[Int]]) -> [UInt8] {
        record(27, second, bits(samples.flatMap { $0 }))
    }

    /// A second of 16-bit samples.
    static func words(_ second: UInt32, _ samples: [[Int]]) -> [UInt8] {
        var payload: [UInt8] = []
        for value in samples.flatMap({ $0 }) { payload.append(little: Int16(value)) }
        return record(26, second, payload)
    }

    private static func bits(_ numbers: [Int]) -> [UInt8] {
        var bytes: [UInt8] = []
        var held = 0
        var count = 0
        for number in numbers {
            held = held << 12 | (number & 0xFFF)
            count += 12
            while count >= 8 {
                bytes.append(UInt8(held >> (count - 8) & 0xFF))
                count -= 8
            }
            held &= (1 << count) - 1
        }
        if count > 0 { bytes.append(UInt8(held << (8 - count) & 0xFF)) }
        return bytes
    }

    static func asleep(_ second: UInt32) -> [UInt8] { record(3, second, [8]) }
    static func awake(_ second: UInt32) -> [UInt8] { record(3, second, [9]) }

    static func info(
        rate: Int = 30, serial: String = "MOS2D16160581", scale: String? = "256.0", zone: String? = "-05:00:00",
        firmware: String = "1.9.2"
    ) -> String {
        """
        \u{FEFF}Serial Number: \(serial)
        Device Type: wGT3XBT
        Firmware: \(firmware)
        Battery Voltage: 4.18
        Sample Rate: \(rate)
        Start Date: 636929172000000000
        Stop Date: 0
        Last Sample Time: 0
        Unexpected Resets: 0
        Acceleration Max: 8.0
        Acceleration Min: -8.0
        Subject Name: nobody

        """ + (scale.map { "Acceleration Scale: \($0)\n" } ?? "") + (zone.map { "TimeZone: \($0)\n" } ?? "")
    }

    /// A second of samples whose values identify them.
    static func samples(_ number: Int, rate: Int = 30) -> [[Int]] {
        (0..<rate).map { [(number * rate + $0) % 2000 - 1000, -$0, 256 + $0] }
    }
}
