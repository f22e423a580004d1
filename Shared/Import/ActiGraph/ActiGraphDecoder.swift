package import Files
import Messages

/// Reads `log.bin` of a `.gt3x` file: records with a second of samples each, and a checksum.
///
/// Records have no numbers. Seconds without a record are a gap, unless the device reports that it slept: a sleep is a pause, and
/// no samples are made up for it.
///
/// actigraph/GT3X-File-Format, README.md and LogRecords/.
package struct ActiGraphDecoder: ImportDecoder {
    private static let headerSize = 8
    private static let separator: UInt8 = 0x1E
    /// The key in record 21 for the counts of 1 g: number 55 of address space 0.
    private static let scaleParameter: UInt32 = 55 << 16

    private let info: ActiGraphInfo
    private let device: String
    private let rate: Int
    /// Nanoseconds by which the device's clock is ahead of UTC.
    private let ahead: Int64
    private var scale: Double?

    private var buffer: [UInt8] = []
    private var start = 0
    /// Bytes of the file before `buffer`.
    private var offset = 0

    /// The second of the last samples, and their number.
    private var last: (second: Int64, count: Int)?
    private var isAsleep = false
    /// Whether the device slept since the last samples.
    private var hasSlept = false
    /// The second from which on samples are expected, unless the device sleeps.
    private var expected: Int64 = 0
    /// Seconds without a record since the last samples, while the device was awake before a sleep.
    private var lost: Int64 = 0
    private var damage = Damage()

    private struct Damage {
        /// Unreadable records since the last samples.
        var open = 0
        var records = 0
        var first = 0
        var repeated = 0
        /// Whether the preceding bytes are not records.
        var isInside = false
    }

    /// - Parameters:
    ///   - device: a name for the device; nil for its serial number.
    ///   - zone: seconds by which the device's clock is ahead of UTC.
    package init(_ info: ActiGraphInfo, device: String? = nil, zone: Int) throws(RecordingError) {
        guard let rate = info.rate else {
            throw .notImported("info.txt has no sample rate", "Download the recording from the device again.")
        }
        self.info = info
        self.rate = rate
        self.device = device ?? (info.serial.isEmpty ? "actigraph" : info.serial)
        ahead = Int64(zone) * 1_000_000_000
        scale = info.scale
    }

    package mutating func decode(_ bytes: UnsafeRawBufferPointer, _ emit: Emit) throws(RecordingError) {
        buffer.removeFirst(start)
        offset += start
        start = 0
        buffer += bytes
        try readRecords(isLast: false, emit)
    }

    package mutating func finish(_ emit: Emit) throws(RecordingError) {
        try readRecords(isLast: true, emit)
        guard last != nil else {
            throw .notImported("log.bin has no samples", "Download the recording from the device again.")
        }
        if lost > 0 { try emit(.gap(stream: 0, count: Int(lost) * rate, .estimated)) }
        // It is unknown whether the damaged records had samples.
        if damage.open > 0 { try emit(.gap(stream: 0, count: 0, .malformed)) }
        if damage.records > 0 {
            try emit(.failure("\(damage.records) records are damaged, the first at byte \(damage.first) of log.bin"))
        }
        if damage.repeated > 0 {
            try emit(.failure("\(damage.repeated) seconds are repeated or go back in time, and are left out"))
        }
    }

    // MARK: Records

    private enum Found {
        case record(end: Int)
        /// Its checksum is wrong, but another record follows at its end.
        case damaged(end: Int)
        case nothing
        case more
    }

    private mutating func readRecords(isLast: Bool, _ emit: Emit) throws(RecordingError) {
        // The exclusive or of all bytes before each byte, so that a checksum takes the same time for a record of any length.
        var sums: [UInt8] = [0]
        sums.reserveCapacity(buffer.count + 1)
        for byte in buffer { sums.append(sums[sums.count - 1] ^ byte) }
        while start < buffer.count {
            if buffer[start] == 0 {
                start += 1
                continue
            }
            switch find(sums, isLast: isLast) {
            case .more: return
            case .record(let end):
                damage.isInside = false
                let record = start..<end
                start = end
                try take(record, emit)
            case .damaged(let end):
                noteDamage()
                damage.isInside = false
                start = end
            case .nothing:
                noteDamage()
                start += 1
            }
        }
    }

    private mutating func noteDamage() {
        guard !damage.isInside else { return }
        damage.isInside = true
        if damage.records == 0 { damage.first = offset + start }
        damage.records += 1
        damage.open += 1
    }

    /// Identifies the bytes at `start`.
    private func find(_ sums: [UInt8], isLast: Bool) -> Found {
        guard buffer[start] == Self.separator else { return .nothing }
        let payload = start + Self.headerSize
        guard payload < buffer.count else { return isLast ? .nothing : .more }
        let end = payload + Int(buffer[start + 6]) + Int(buffer[start + 7]) << 8 + 1
        guard end <= buffer.count else { return isLast ? .nothing : .more }
        let isValid = ~(sums[end - 1] ^ sums[start]) == buffer[end - 1]
        if isValid, !damage.isInside { return .record(end: end) }
        // One in 256 places looks like a record. In damaged bytes, a record must therefore be followed by another one.
        if end == buffer.count, !isLast { return .more }
        let isFollowed = end == buffer.count || buffer[end] == Self.separator || buffer[end] == 0
        if !isFollowed { return .nothing }
        if isValid { return .record(end: end) }
        return damage.isInside ? .nothing : .damaged(end: end)
    }

    private mutating func take(_ record: Range<Int>, _ emit: Emit) throws(RecordingError) {
        let type = buffer[record.lowerBound + 1]
        let second = (0..<4).reduce(Int64(0)) { $0 | Int64(buffer[record.lowerBound + 2 + $1]) << Int64($1 * 8) }
        let payload = buffer[(record.lowerBound + Self.headerSize)..<(record.upperBound - 1)]
        switch type {
        // A single byte notes that a cable was connected.
        case 0 where payload.count > 1, 26 where payload.count > 1, 27 where payload.count > 1:
            try takeSamples(type, payload, at: second, emit)
        case 3 where payload.count == 1:
            if payload.first == 8 { try fallAsleep(at: second, emit) }
            if payload.first == 9 { try wakeUp(at: second, emit) }
        case 21: takeParameters(payload)
        default: break
        }
    }

    /// Each parameter has eight bytes: a key and a value.
    private mutating func takeParameters(_ payload: ArraySlice<UInt8>) {
        guard scale == nil else { return }
        payload.withUnsafeBytes { bytes in
            for place in stride(from: 0, to: bytes.count - 7, by: 8)
            where bytes.integer(UInt32.self, at: place) == Self.scaleParameter {
                let value = bytes.integer(UInt32.self, at: place + 4)
                let exponent = Int(Int8(bitPattern: UInt8(value >> 24)))
                let mantissa = Double(Int32(bitPattern: value << 8) >> 8) / 0x1p23
                let found = Double(sign: .plus, exponent: exponent, significand: mantissa)
                if found > 0 { scale = found }
            }
        }
    }

    // MARK: Sleep

    /// A device falls asleep after this many seconds without movement, and may not have written records for them:
    /// actigraph/pygt3x#26 counts them as part of the sleep.
    private static let idleSeconds: Int64 = 10

    private mutating func fallAsleep(at second: Int64, _ emit: Emit) throws(RecordingError) {
        guard let last, !isAsleep else { return }
        isAsleep = true
        hasSlept = true
        lost += max(0, second - expected - Self.idleSeconds)
        try emit(.pause(at: nanoseconds(max(second, last.second + 1))))
    }

    private mutating func wakeUp(at second: Int64, _ emit: Emit) throws(RecordingError) {
        guard let last, isAsleep else { return }
        isAsleep = false
        // The second in which the device woke need not have a record.
        expected = max(expected, second + 1)
        try emit(.resume(at: nanoseconds(max(second, last.second + 1))))
    }

    // MARK: Samples

    private func nanoseconds(_ second: Int64) -> Int64 { second * 1_000_000_000 - ahead }

    private mutating func takeSamples(
        _ type: UInt8, _ payload: ArraySlice<UInt8>, at second: Int64, _ emit: Emit
    ) throws(RecordingError) {
        guard let scale else {
            throw .notImported(
                "it does not say how many counts are 1 g, and its device \(info.serial) is unknown",
                "Export it to CSV with ActiGraph's software, and import that.")
        }
        var counts = type == 26 ? Self.words(payload) : Self.packed(payload)
        // Records of type 0 store y first.
        if type == 0 { for place in stride(from: 0, to: counts.count, by: 3) { counts.swapAt(place, place + 1) } }
        if info.isTurned {
            for place in stride(from: 0, to: counts.count, by: 3) {
                (counts[place], counts[place + 1]) = (counts[place + 1], -counts[place])
            }
        }
        let count = counts.count / 3
        guard count > 0 else { return }
        if let last {
            guard second > last.second else {
                damage.repeated += 1
                return try emit(.duplicates(stream: 0, count: count))
            }
            if isAsleep { try wakeUp(at: second, emit) }
            try emitGaps(from: last, to: second, emit)
        } else {
            let stream = ImportedStream(
                StreamName(device: device, stream: "accelerometer"), fields: ["x", "y", "z"], unit: "g",
                rate: Double(rate), run: "gt3x-\(info.serial)")
            try emit(.streams([stream], start: nanoseconds(second)))
        }
        hasSlept = false
        lost = 0
        expected = second + 1
        damage.open = 0
        last = (second, count)
        let start = nanoseconds(second)
        let times = (0..<count).map { start + (Int64($0) * 1_000_000_000 + Int64(rate) / 2) / Int64(rate) }
        try emit(.samples(stream: 0, SampleBlock(times: times, values: counts.map { Double($0) / scale })))
    }

    private func emitGaps(
        from last: (second: Int64, count: Int), to second: Int64, _ emit: Emit
    ) throws(RecordingError) {
        let missing = Int(second - last.second) - 1
        let malformed = min(damage.open, missing)
        if malformed > 0 { try emit(.gap(stream: 0, count: malformed * rate, .malformed)) }
        // The last second before a sleep may be incomplete.
        let short = hasSlept ? 0 : max(0, rate - last.count)
        let awake = min(missing, Int(lost + max(0, second - expected)))
        let others = max(0, awake - malformed) * rate + short
        if others > 0 { try emit(.gap(stream: 0, count: others, .estimated)) }
    }

    /// Signed 12-bit numbers, high bits first; spare bits at the end are ignored.
    private static func packed(_ payload: ArraySlice<UInt8>) -> [Int] {
        var numbers: [Int] = []
        numbers.reserveCapacity(payload.count * 2 / 3)
        var bits = 0
        var held = 0
        for byte in payload {
            held = held << 8 | Int(byte)
            bits += 8
            if bits < 12 { continue }
            bits -= 12
            let number = held >> bits & 0xFFF
            numbers.append(number > 0x7FF ? number - 0x1000 : number)
            held &= (1 << bits) - 1
        }
        numbers.removeLast(numbers.count % 3)
        return numbers
    }

    private static func words(_ payload: ArraySlice<UInt8>) -> [Int] {
        payload.withUnsafeBytes { bytes in
            (0..<(bytes.count / 6 * 3)).map { Int(bytes.integer(Int16.self, at: $0 * 2)) }
        }
    }
}
