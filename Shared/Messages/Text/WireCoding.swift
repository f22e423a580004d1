import FoundationEssentials

/// JSON as it goes over the wire: sorted keys and plain slashes, so that a message's bytes never depend on the run.
///
/// Coders are made per use: they are cheap beside what they do, and not Sendable. Sample batches, the one thing sent
/// thousands of times a second, have an encoding of their own with the same bytes (`SampleBatchEncoder`).
public enum WireCoding {
    /// The bytes of a value.
    /// - Throws: `EncodingError`, from a value's own encoding only.
    public static func encode(_ value: some Encodable) throws -> [UInt8] {
        try JSONText.encode(value)
    }

    /// The value in the bytes.
    /// - Throws: `DecodingError`.
    public static func decode<Value: Decodable>(_ type: Value.Type, from bytes: some Sequence<UInt8>) throws -> Value {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        // Bytes that lie in one piece are lent, for there may be many.
        let value = try bytes.withContiguousStorageIfAvailable { bytes in
            guard let address = UnsafeMutableRawPointer(mutating: bytes.baseAddress) else {
                return try decoder.decode(type, from: Data())
            }
            return try decoder.decode(type, from: Data(bytesNoCopy: address, count: bytes.count, deallocator: .none))
        }
        return try value ?? decoder.decode(type, from: Data(bytes))
    }
}
