import Messages
import TextInput

/// Reads lines of JSON as accelerations: one object a line, with numbers under the names of `AccelerationTable`.
///
/// Lines around the objects of a recording, such as brackets and its `startDate`, are skipped.
enum AccelerationObject {
    /// Whether a file that begins with this line is JSON.
    static func begins(_ line: Span<UInt8>) -> Bool {
        line.withUnsafeBytes { bytes in
            bytes.first { $0 > 0x20 }.map { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "[") } ?? false
        }
    }

    /// Reads a line without its end; nil if no object begins on it, or only that of the whole file.
    /// - Parameter isFirst: whether it is the file's first line. In any other line, a lone opening brace begins a record
    ///   that cannot be read.
    /// - Throws: `invalidInput` if another record follows on the line.
    static func row(
        _ line: Span<UInt8>, isFirst: Bool, _ time: inout SampleTime
    ) throws(TextInputError) -> AccelerationRow? {
        try line.withUnsafeBytes { (bytes) throws(TextInputError) -> AccelerationRow? in
            guard let start = bytes.firstIndex(of: UInt8(ascii: "{")) else { return nil }
            guard bytes[(start + 1)...].contains(where: { $0 > 0x20 }) else {
                return isFirst ? nil : AccelerationRow.none
            }
            let record: (row: AccelerationRow, isLast: Bool)
            do throws(MessageError) {
                record = try row(bytes, from: start, &time)
            } catch {
                return AccelerationRow.none
            }
            guard record.isLast else {
                throw TextInputError(
                    .invalidInput,
                    "the line has several records: write each on a line of its own, as jq -c '.[]' does")
            }
            return record.row
        }
    }

    /// Reads a record, and whether no other one follows on the line.
    private static func row(
        _ bytes: UnsafeRawBufferPointer, from start: Int, _ time: inout SampleTime
    ) throws(MessageError) -> (row: AccelerationRow, isLast: Bool) {
        var scanner = JSONScanner(bytes, in: start..<bytes.count)
        var sample = SIMD4<Double>(.nan, 0, 0, 0)
        var hasX = false
        var bestRank = AccelerationTable.timeNames.count
        var isMarker = false
        var isRecorded = false
        var unit: String?
        try scanner.expect(UInt8(ascii: "{"))
        repeat {
            let key = try scanner.skipString().dropFirst().dropLast()
            try scanner.expect(UInt8(ascii: ":"))
            let value = try scanner.skipValue()
            let name = UnsafeRawBufferPointer(rebasing: bytes[key])
            if let lane = lane(of: name) {
                sample[lane] = number(bytes[value])
                hasX = hasX || lane == 1
            } else if !isRecorded, let rank = rank(ofTime: name) {
                guard rank < bestRank else { continue }
                bestRank = rank
                sample.x = time.seconds(UnsafeRawBufferPointer(rebasing: bytes[value]))
            } else if bytes[value.lowerBound] == UInt8(ascii: "\"") {
                if name.elementsEqual("marker".utf8) { isMarker = true }
                if name.elementsEqual("unit".utf8) { unit = JSONScanner.string(at: value, in: bytes) }
                // In the recorder's samples, the stream's own fields follow and may have any name.
                if name.elementsEqual("sensorType".utf8) { isRecorded = bestRank < AccelerationTable.timeNames.count }
            } else if !hasX, name.elementsEqual("magnitude".utf8) {
                sample.y = number(bytes[value])
                hasX = true
            }
        } while scanner.skip(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "}"))
        let isLast =
            scanner.peek() != UInt8(ascii: "{") && (!scanner.skip(UInt8(ascii: ",")) || scanner.peek() == nil)
        if isMarker { return (.marker(unit: unit), isLast) }
        let isSample = hasX && (0..<4).allSatisfy { sample[$0].isFinite }
        return (isSample ? .sample(sample) : .none, isLast)
    }

    private static func number(_ text: Slice<UnsafeRawBufferPointer>) -> Double {
        DecimalParser.parse(UnsafeRawBufferPointer(rebasing: text)) ?? .nan
    }

    /// The index of a time's name in `timeNames`.
    private static func rank(ofTime name: UnsafeRawBufferPointer) -> Int? {
        // Most names differ in length already.
        AccelerationTable.timeNames.firstIndex { $0.utf8.count == name.count && name.elementsEqual($0.utf8) }
    }

    /// The index of an axis in a sample.
    private static func lane(of name: UnsafeRawBufferPointer) -> Int? {
        guard name.count == 1 else { return nil }
        switch name[0] {
        case UInt8(ascii: "x"): return 1
        case UInt8(ascii: "y"): return 2
        case UInt8(ascii: "z"): return 3
        default: return nil
        }
    }
}
