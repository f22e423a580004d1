package import Messages

/// The type of an LSL outlet's values, as named by `channel_format`.
package enum LSLFormat: String, Hashable, Sendable, CaseIterable {
    case float32
    case double64
    case int8
    case int16
    case int32
    case int64
    case string

    /// The bytes of a value; nil for text.
    package var size: Int? {
        switch self {
        case .int8: 1
        case .int16: 2
        case .float32, .int32: 4
        case .double64, .int64: 8
        case .string: nil
        }
    }

    /// The type of the values in records; nil if a `Double` holds all values exactly.
    package var type: FieldType? {
        switch self {
        case .string: .text
        case .int64: .number
        case .float32, .double64, .int8, .int16, .int32: nil
        }
    }

    /// A value of the two test samples that an outlet sends first, so that a receiver can check its decoding (liblsl, sample.cpp,
    /// `assign_test_pattern`).
    /// - Parameter pattern: 4 for the first test sample, 2 for the second.
    func testValue(of channel: Int, pattern: Int) -> Int64 {
        let (base, largest): (Int64, Int64) =
            switch self {
            case .float32: (0, .max)
            case .double64: (16_777_217, .max)
            case .int8: (1, 127)
            case .int16: (257, 32_767)
            case .int32: (65_537, 2_147_483_647)
            case .int64: (2_147_483_649, .max)
            case .string: (10 - Int64(pattern), .max)
            }
        let value = (Int64(channel + pattern) + base) % largest
        return channel.isMultiple(of: 2) ? value : -value
    }
}
