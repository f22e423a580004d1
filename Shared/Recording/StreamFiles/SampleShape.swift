import Glibc
import Messages

/// The form of a stream's samples in JSON: constant text around numbers that change. A sample with the form of an earlier one is
/// read by comparing that text, several times faster than as arbitrary JSON.
///
/// Keeps its memory from record to record.
struct SampleShape {
    /// After this many samples of another form, the form is learned again.
    private static let patience = 64

    /// The text between the numbers, piece after piece: from the separator before the record to its first number, and so on.
    private var texts: [UInt8] = []
    /// The end in `texts` of the piece before each number.
    private var ends: [Int] = []
    /// The ranges of the numbers of the last match, from the record's first byte: uptime, timestamp, and the stream's fields.
    private(set) var numbers: [Range<Int>] = []
    private var matches = 0
    private var misses = 0

    private static let separator: [UInt8] = [UInt8(ascii: ","), UInt8(ascii: "\n")]
    static let separatorLength = 2

    /// Looks for a separator and a sample of this form.
    ///
    /// - Returns: the end of the sample; `nil` if it has another form or is incomplete.
    @inline(__always)
    mutating func match(_ bytes: UnsafeRawBufferPointer, at place: Int) -> Int? {
        guard !ends.isEmpty, let base = bytes.baseAddress else { return nil }
        let end = Self.match(
            base, from: place, to: bytes.count, texts, ends, into: &numbers)
        if end == nil { misses &+= 1 } else { matches &+= 1 }
        return end
    }

    @inline(__always)
    private static func match(
        _ base: UnsafeRawPointer, from place: Int, to limit: Int, _ texts: [UInt8], _ ends: [Int],
        into numbers: inout [Range<Int>]
    ) -> Int? {
        let record = place &+ separatorLength
        return texts.withUnsafeBytes { texts in
            guard let text = texts.baseAddress else { return nil }
            return numbers.withUnsafeMutableBufferPointer { numbers in
                var index = place
                var start = 0
                for number in numbers.indices {
                    let end = ends[number]
                    let length = end &- start
                    guard limit &- index > length, memcmp(base + index, text + start, length) == 0,
                        let stop = endOfNumber(base, from: index &+ length, to: limit)
                    else { return nil }
                    numbers[number] = (index &+ length &- record)..<(stop &- record)
                    index = stop
                    start = end
                }
                guard base.load(fromByteOffset: index, as: UInt8.self) == UInt8(ascii: "}") else { return nil }
                return index &+ 1
            }
        }
    }

    /// The end of a JSON number, if another byte follows.
    @inline(__always)
    private static func endOfNumber(_ base: UnsafeRawPointer, from start: Int, to limit: Int) -> Int? {
        func byte(_ index: Int) -> UInt8 { index < limit ? base.load(fromByteOffset: index, as: UInt8.self) : 0 }
        func digits(_ index: Int) -> Int {
            var index = index
            while limit &- index >= 8 {
                let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                let digits = word ^ 0x3030_3030_3030_3030
                // Only a byte that is no digit can carry, and only into bytes after it, so the first such byte is found.
                let others = (digits &+ 0x7676_7676_7676_7676 | digits) & 0x8080_8080_8080_8080
                if others != 0 { return index &+ others.trailingZeroBitCount &>> 3 }
                index &+= 8
            }
            while byte(index) &- UInt8(ascii: "0") < 10 { index &+= 1 }
            return index
        }
        var index = start
        if byte(index) == UInt8(ascii: "-") { index &+= 1 }
        if byte(index) == UInt8(ascii: "0") {
            index &+= 1
        } else {
            let first = index
            index = digits(index)
            guard index > first else { return nil }
        }
        if byte(index) == UInt8(ascii: ".") {
            let first = index &+ 1
            index = digits(first)
            guard index > first else { return nil }
        }
        if byte(index) | 0x20 == UInt8(ascii: "e") {
            index &+= 1
            if byte(index) == UInt8(ascii: "-") || byte(index) == UInt8(ascii: "+") { index &+= 1 }
            let first = index
            index = digits(first)
            guard index > first else { return nil }
        }
        return index < limit ? index : nil
    }

    /// Learns the form of a valid sample, if all its values except the step path and the sensor type are numbers.
    mutating func learn(_ record: UnsafeRawBufferPointer) {
        guard matches > 0 || misses % Self.patience == 0 else { return }
        matches = 0
        texts = []
        ends = []
        numbers = []
        guard let found = try? Self.numbers(of: record) else { return }
        texts = Self.separator
        var start = 0
        for number in found {
            texts += record[start..<number.lowerBound]
            ends.append(texts.count)
            start = number.upperBound
        }
        numbers = found
    }

    /// The ranges of a sample's numbers; `nil` if it has other values.
    private static func numbers(of record: UnsafeRawBufferPointer) throws(MessageError) -> [Range<Int>]? {
        var scanner = JSONScanner(record)
        var numbers: [Range<Int>] = []
        var column = 0
        try scanner.expect(UInt8(ascii: "{"))
        repeat {
            try scanner.skipString()
            try scanner.expect(UInt8(ascii: ":"))
            guard let byte = scanner.peek() else { return nil }
            let value = try scanner.skipValue()
            // The step path and the sensor type are always the same, or the form is learned again.
            if column != 2, column != 3 {
                guard byte == UInt8(ascii: "-") || byte &- UInt8(ascii: "0") < 10 else { return nil }
                numbers.append(value)
            }
            column += 1
        } while scanner.skip(UInt8(ascii: ","))
        // Only the brace follows the last number.
        guard column > 4, let last = numbers.last, last.upperBound == record.count - 1 else { return nil }
        return numbers
    }
}
