/// The origin of a stream's data: a sensor, a recording, or a computation.
public struct DataOrigin: RawRepresentable, CustomStringConvertible, Codable, Hashable, Sendable {
    /// The word on the wire and in files.
    public let rawValue: String

    /// Any word: later versions may add some.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The same as `rawValue`.
    public var description: String { rawValue }

    /// A sensor measured them while they were published.
    public static let measured = DataOrigin(rawValue: "measured")
    /// They were recorded earlier, and are played from a file.
    public static let replayed = DataOrigin(rawValue: "replayed")
    /// They were computed.
    public static let simulated = DataOrigin(rawValue: "simulated")
    /// The publisher's epochs during a session have different origins. No publisher reports this.
    public static let mixed = DataOrigin(rawValue: "mixed")

    /// The origin of data from several parts, whose origins may be unknown; nil if all are.
    package init?(of parts: some Sequence<DataOrigin?>) {
        let known = Set(parts.compactMap(\.self))
        guard let first = known.first else { return nil }
        self = known.count == 1 ? first : .mixed
    }
}
