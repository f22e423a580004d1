import Messages
import Recording

/// Identifies a sample by its values, in a form that is the same in all copies of it.
///
/// Numbers are compared as Float32, which has more digits than a phone's sensors, so an app may write fewer or more digits.
struct SampleKey: Hashable {
    private var bytes: [UInt8] = []

    mutating func add(_ number: Double) {
        // 0 and -0 are the same number, and so are all NaNs.
        let value = number.isNaN ? Float.nan : Float(number) + 0
        withUnsafeBytes(of: (value == 0 ? 0 : value).bitPattern) { bytes += $0 }
    }

    mutating func add(_ text: some Sequence<UInt8>) {
        bytes += text
        bytes.append(0)
    }

    /// Adds a cell as written in a stream file of the session: a JSON value, or a field of a table with its quotes.
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

/// The values of a sample in an export.
enum SampleValues {
    case numbers([Double])
    /// JSON values separated by commas.
    case record([UInt8])
}
