/// A `.cwa` file, made block by block.
struct CWAFile {
    /// A block before encoding.
    struct Block {
        var layout: UInt8 = 0x32
        var session: UInt32 = 7
        var sequence: UInt32 = 0
        /// Year, month, day, hour, minute, second.
        var date: [UInt32] = [2026, 11, 21, 10, 0, 0]
        /// Of a second, in 1/32768; nil for a block that has a device number instead.
        var fraction: UInt16?
        /// The sample to which the date applies.
        var offset: Int16 = 0
        /// 0x4A is 100 Hz and 8 g.
        var rate: UInt8 = 0x4A
        /// Bits 15 to 13: the unit; 12 to 10: the range of the gyroscope.
        var scales: UInt16 = 0
        var events: UInt8 = 0
        /// Rows of counts: x, y, z, or gx, gy, gz, x, y, z.
        var samples: [[Int16]] = []
        /// Exponents of packed samples.
        var exponents: [UInt32] = []
        /// The sample count in the block's header; nil for the true one.
        var count: UInt16?

        var bytes: [UInt8] {
            var bytes = [UInt8](repeating: 0, count: 512)
            bytes.write(0x5841 as UInt16, at: 0)
            bytes.write(508 as UInt16, at: 2)
            bytes.write(fraction.map { $0 | 0x8000 } ?? 1234, at: 4)
            bytes.write(session, at: 6)
            bytes.write(sequence, at: 10)
            bytes.write(
                (date[0] - 2000) << 26 | date[1] << 22 | date[2] << 17 | date[3] << 12 | date[4] << 6 | date[5], at: 14)
            bytes.write(scales, at: 18)
            bytes[22] = events
            bytes[24] = rate
            bytes[25] = layout
            bytes.write(offset, at: 26)
            bytes.write(count ?? UInt16(samples.count), at: 28)
            for (index, sample) in samples.enumerated() {
                if layout == 0x30 {
                    let exponent = exponents.isEmpty ? 0 : exponents[index]
                    let parts = sample.enumerated().map { UInt32(UInt16(bitPattern: $1) & 0x3FF) << UInt32($0 * 10) }
                    bytes.write(parts.reduce(exponent << 30, |), at: 30 + index * 4)
                } else {
                    for (axis, value) in sample.enumerated() {
                        bytes.write(value, at: 30 + (index * sample.count + axis) * 2)
                    }
                }
            }
            var sum: UInt16 = 0
            for place in stride(from: 0, to: 510, by: 2) {
                sum &+= UInt16(bytes[place]) | UInt16(bytes[place + 1]) << 8
            }
            bytes.write(0 &- sum, at: 510)
            return bytes
        }
    }

    static func header(
        hardware: UInt8 = 0x17, device: UInt32 = 39434, session: UInt32 = 7, annotation: String = ""
    ) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xFF, count: 1024)
        bytes.write(0x444D as UInt16, at: 0)
        bytes.write(1020 as UInt16, at: 2)
        bytes[4] = hardware
        bytes.write(UInt16(truncatingIfNeeded: device), at: 5)
        bytes.write(session, at: 7)
        bytes.write(device >> 16 == 0 ? 0xFFFF : UInt16(device >> 16), at: 11)
        let text = Array(annotation.utf8)
        for place in 64..<512 { bytes[place] = place - 64 < text.count ? text[place - 64] : 0x20 }
        return bytes
    }

    /// Blocks of a device whose true rate is 98 Hz. Each begins this many samples after the previous block, and its date applies
    /// to its first sample.
    static func blocks(
        _ count: Int, of samples: Int = 80, layout: UInt8 = 0x32, columns: Int = 3, rate: Double = 98,
        _ value: (Int, Int) -> Int16
    ) -> [Block] {
        (0..<count).map { block in
            let seconds = Double(block * samples) / rate
            let whole = UInt32(seconds)
            var made = Block(layout: layout, sequence: UInt32(block))
            made.date = [2026, 11, 21, 10, whole / 60, whole % 60]
            made.fraction = UInt16((seconds - Double(whole)) * 32768)
            // As firmware does: the offset is moved to the whole second.
            made.offset = -Int16((Int(made.fraction ?? 0) * 100) >> 15)
            made.samples = (0..<samples).map { sample in (0..<columns).map { value(block * samples + sample, $0) } }
            return made
        }
    }
}
