/// Converts values of any kind to numbers, so that records are compared like samples: a number stays itself, and two other values
/// get the same number if they have the same text in a table.
enum Cell {
    /// The number for a JSON value.
    static func number(_ value: StrictJSON) -> Double {
        switch value {
        case .null: .nan
        case .number(let number): number
        case .bool(let bool): number(of: bool ? "true" : "false")
        case .string(let text): number(inTable: text)
        case .array, .object: number(of: "\(value)")
        }
    }

    /// The number for a table's cell.
    static func number(inTable text: String) -> Double {
        if text.isEmpty || text == "NaN" { return .nan }
        if let number = Double(text) { return number }
        if text.hasPrefix("{") || text.hasPrefix("["), let value = try? StrictJSON(text.utf8) { return number(value) }
        return number(of: text)
    }

    /// FNV-1a, as a whole number below 2^53.
    private static func number(of text: String) -> Double {
        let hash = text.utf8.reduce(into: UInt64(0xCBF2_9CE4_8422_2325)) { hash, byte in
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
        }
        return Double(hash >> 11)
    }
}
