/// A stream's full name, `<device>/<stream>`, as topics and requests write it.
public struct StreamName: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The device: `left-wrist`.
    public let device: String
    /// The stream of that device: `accelerometer`.
    public let stream: String

    /// Creates a name from its two parts.
    public init(device: String, stream: String) {
        self.device = device
        self.stream = stream
    }

    /// Reads `<device>/<stream>`; nil if there are not two parts.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        self.init(device: String(parts[0]), stream: String(parts[1]))
    }

    /// Decodes what `encode` wrote.
    public init(from decoder: any Decoder) throws {
        let text = try String(from: decoder)
        guard let name = StreamName(text) else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "'\(text)' does not name a stream: write DEVICE/STREAM"))
        }
        self = name
    }

    /// Encodes the text `<device>/<stream>`.
    public func encode(to encoder: any Encoder) throws {
        try description.encode(to: encoder)
    }

    /// `device/stream`.
    public var description: String { "\(device)/\(stream)" }

    /// The pattern that matches all streams of all devices.
    public static let everything = "*"

    /// Whether a pattern matches this stream: its full name, a device with a slash at the end, or `everything`.
    public func matches(_ pattern: String) -> Bool { matches(anyOf: [pattern]) }

    /// Whether at least one pattern matches this stream, in the same time for one pattern as for hundreds.
    public func matches(anyOf patterns: Set<String>) -> Bool {
        patterns.contains(Self.everything) || patterns.contains("\(device)/") || patterns.contains(description)
    }
}
