import Messages

/// A block of 512 bytes of a `.cwa` file, with samples.
struct AxivityBlock: Sendable {
    static let byteCount = 512

    /// The result of parsing 512 bytes.
    enum Parsed {
        case block(AxivityBlock)
        /// Memory that was never written.
        case erased
        /// Not a block, or one with a wrong checksum or an impossible date.
        case damaged
        /// A valid block with samples that this version cannot read.
        case unknown(layout: UInt8)
    }

    /// The columns of a sample, in stored order.
    enum Layout: UInt8 {
        case packed = 0x30
        case three = 0x32
        case six = 0x62

        var columns: Int { self == .six ? 6 : 3 }
        var bytesPerSample: Int { self == .packed ? 4 : columns * 2 }
        var capacity: Int { AxivityBlock.sampleBytes / bytesPerSample }
    }

    private static let sampleBytes = 480

    let layout: Layout
    let session: UInt32
    let sequence: UInt32
    /// Whether the device resumed logging with this block.
    let isResumed: Bool
    let rate: Double
    /// A date by the device's own clock, as nanoseconds since 1970, and the index of its sample, which may be outside the block.
    let point: (time: Int64, index: Int)
    /// Whether it claims to have more samples than fit.
    let isOverfull: Bool
    /// Accelerations in g, and for `six` rates of rotation in degrees a second, sample by sample.
    let acceleration: [Double]
    let rotation: [Double]

    var count: Int { acceleration.count / 3 }

    /// Whether the block was read before, given that its number is not after that of the last block: the device's clock does not
    /// go back. Blocks may share a date; after a restart a block is a repetition only if it also has the same number.
    func repeats(_ last: AxivityBlock) -> Bool {
        isResumed
            ? sequence == last.sequence && point.time == last.point.time : point.time <= last.point.time
    }

    static func parse(_ bytes: UnsafeRawBufferPointer) -> Parsed {
        guard bytes[0] == UInt8(ascii: "A"), bytes[1] == UInt8(ascii: "X"), bytes.integer(UInt16.self, at: 2) == 508
        else {
            let first = bytes[0]
            return (first == 0 || first == 0xFF) && bytes.allSatisfy { $0 == first } ? .erased : .damaged
        }
        var sum: UInt16 = 0
        for offset in stride(from: 0, to: byteCount, by: 2) { sum &+= bytes.integer(UInt16.self, at: offset) }
        guard sum == 0, let time = time(bytes.integer(UInt32.self, at: 14)) else { return .damaged }
        guard let layout = Layout(rawValue: bytes[25]) else { return .unknown(layout: bytes[25]) }
        return .block(AxivityBlock(bytes, layout, time: time))
    }

    private init(_ bytes: UnsafeRawBufferPointer, _ layout: Layout, time: Int64) {
        self.layout = layout
        session = bytes.integer(UInt32.self, at: 6)
        sequence = bytes.integer(UInt32.self, at: 10)
        isResumed = bytes[22] & 1 != 0
        rate = 3200 / Double(1 << (15 - Int(bytes[24] & 15)))
        let fraction = bytes.integer(UInt16.self, at: 4)
        let isFraction = fraction & 0x8000 != 0
        let parts = isFraction ? Int64(fraction & 0x7FFF) : 0
        // The firmware moves the index to the whole second, so the fraction is added to both.
        point = (
            time + parts * 1_000_000 / 32768 * 1000,
            Int(bytes.integer(Int16.self, at: 26)) + (Int(parts) * Int(rate)) >> 15
        )
        let declared = Int(bytes.integer(UInt16.self, at: 28))
        isOverfull = declared > layout.capacity
        let scales = bytes.integer(UInt16.self, at: 18)
        let unit = 1 / Double(1 << (8 + Int(scales >> 13)))
        let gyro = Int(scales >> 10) & 7
        let degrees = (gyro == 0 ? 2000 : 8000 / Double(1 << gyro)) / 32768

        var acceleration: [Double] = []
        var rotation: [Double] = []
        let count = min(declared, layout.capacity)
        acceleration.reserveCapacity(count * 3)
        for index in 0..<count {
            let start = 30 + index * layout.bytesPerSample
            func word(_ place: Int) -> Double { Double(bytes.integer(Int16.self, at: start + place * 2)) }
            switch layout {
            case .packed:
                let packed = bytes.integer(UInt32.self, at: start)
                let exponent = Int32(packed >> 30)
                for shift in [UInt32(22), 12, 2] {
                    acceleration.append(Double((Int32(bitPattern: packed << shift) >> 22) << exponent) * unit)
                }
            case .three:
                for place in 0..<3 { acceleration.append(word(place) * unit) }
            case .six:
                for place in 0..<3 {
                    rotation.append(word(place) * degrees)
                    acceleration.append(word(place + 3) * unit)
                }
            }
        }
        self.acceleration = acceleration
        self.rotation = rotation
    }

    /// Decodes a date of 32 bits to nanoseconds since 1970 by the device's clock; nil if there is no such date.
    private static func time(_ packed: UInt32) -> Int64? {
        func digits(_ shift: UInt32, _ mask: UInt32) -> String {
            let number = packed >> shift & mask
            return number < 10 ? "0\(number)" : "\(number)"
        }
        let text =
            "20\(digits(26, 63))-\(digits(22, 15))-\(digits(17, 31))T\(digits(12, 31)):\(digits(6, 63)):\(digits(0, 63))Z"
        return (try? WallTime(iso8601: text))?.nanosecondsSince1970
    }
}
