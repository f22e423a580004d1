import Messages
import Recording

/// What tells a sample from others: its values, in the form in which a copy of it has the same.
///
/// Numbers are compared as Float32, which has more digits than a phone's sensors, so that it does not matter how many digits an app
/// writes.
struct SampleKey: Hashable {
    private var bytes: [UInt8] = []

    mutating func add(_ number: Double) {
        // 0 and -0 are one number, and so is all that is none.
        let value = number.isNaN ? Float.nan : Float(number) + 0
        withUnsafeBytes(of: (value == 0 ? 0 : value).bitPattern) { bytes += $0 }
    }

    mutating func add(_ text: some Sequence<UInt8>) {
        bytes += text
        bytes.append(0)
    }

    /// Adds a cell as a stream of the session has it: a JSON value, or a field of a table with its quotes.
    mutating func add(recorded cell: UnsafeRawBufferPointer, isTable: Bool, as type: FieldType) {
        if type == .number {
            add(DecimalParser.parse(cell) ?? .nan)
        } else if cell.first == UInt8(ascii: "\"") {
            add((isTable ? TableText.unquoted(cell) : JSONScanner.string(at: 0..<cell.count, in: cell)).utf8)
        } else {
            add(!isTable && cell.elementsEqual("null".utf8) ? [] : Array(cell))
        }
    }
}

/// The values of a sample as an export has them.
enum SampleValues {
    case numbers([Double])
    /// JSON values with commas between them.
    case record([UInt8])
}
