import FoundationEssentials

/// JSON in its form on the wire: sorted keys and plain slashes, so that a message's bytes are the same in every run.
///
/// Coders are created per use, because they are cheap and not Sendable. Sample batches, the only messages sent thousands of
/// times a second, have an encoder of their own with the same bytes (`SampleBatchEncoder`).
public enum WireCoding {
    /// The JSON text of a value.
    /// - Throws: `EncodingError`, only from a value's own encoding.
    public static func encode(_ value: some Encodable) throws -> [UInt8] {
        try JSONText.encode(value)
    }

    /// Decodes a value.
    /// - Throws: `DecodingError`.
    public static func decode<Value: Decodable>(_ type: Value.Type, from bytes: some Sequence<UInt8>) throws -> Value {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        // Contiguous bytes are lent instead of copied, because there may be many.
        let value = try bytes.withContiguousStorageIfAvailable { bytes in
            guard let address = UnsafeMutableRawPointer(mutating: bytes.baseAddress) else {
                return try decoder.decode(type, from: Data())
            }
            return try decoder.decode(type, from: Data(bytesNoCopy: address, count: bytes.count, deallocator: .none))
        }
        return try value ?? decoder.decode(type, from: Data(bytes))
    }
}
