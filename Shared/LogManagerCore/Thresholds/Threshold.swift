package import Messages

/// A threshold fires once when its value crosses the limit, and again only after the value was back.
///
/// Strictly beyond, as in ResearchKit's ORKDataLoggerManager: a value equal to the limit is back. A limit of 0 is off.
package struct Threshold: Codable, Hashable, Sendable {
    package enum Kind: String, CaseIterable, Codable, Sendable {
        /// Bytes of finished files that are not uploaded; crossed when too many.
        case pendingUploadBytes
        /// Bytes of all finished files; crossed when too many.
        case totalBytes
        /// Bytes free on the disk; crossed when too few.
        case minimumFreeBytes

        /// Where `LogThresholds` keeps this threshold's limit.
        package var limit: WritableKeyPath<LogThresholds, Int> {
            switch self {
            case .pendingUploadBytes: \.pendingUploadBytes
            case .totalBytes: \.totalBytes
            case .minimumFreeBytes: \.minimumFreeBytes
            }
        }
    }

    package let kind: Kind
    /// Whether the value was beyond the limit at the last comparison.
    package private(set) var isCrossed: Bool

    package init(_ kind: Kind, isCrossed: Bool = false) {
        self.kind = kind
        self.isCrossed = isCrossed
    }

    /// Whether a value is beyond a limit.
    package func isBeyond(_ value: Int, limit: Int) -> Bool {
        guard limit > 0 else { return false }
        return kind == .minimumFreeBytes ? value < limit : value > limit
    }

    /// Compares a value with the limit.
    /// - Returns: whether the value has just crossed the limit.
    package mutating func evaluate(_ value: Int, limit: Int) -> Bool {
        let isBeyond = isBeyond(value, limit: limit)
        defer { isCrossed = isBeyond }
        return isBeyond && !isCrossed
    }
}
