package import Messages

/// One threshold: fires once when a value goes beyond it, and again only after the value was back.
///
/// Strictly beyond, as ResearchKit's ORKDataLoggerManager has it: a value equal to the limit is back. A limit of 0 is off.
package struct Threshold: Codable, Hashable, Sendable {
    /// What is compared.
    package enum Kind: String, CaseIterable, Codable, Sendable {
        /// Bytes of the finished files that are not uploaded: too many.
        case pendingUploadBytes
        /// Bytes of all finished files: too many.
        case totalBytes
        /// Bytes free on the disk: too few.
        case minimumFreeBytes

        /// The limit that thresholds give it.
        package var limit: WritableKeyPath<LogThresholds, Int> {
            switch self {
            case .pendingUploadBytes: \.pendingUploadBytes
            case .totalBytes: \.totalBytes
            case .minimumFreeBytes: \.minimumFreeBytes
            }
        }
    }

    package let kind: Kind
    /// Whether the value was beyond the limit when it was compared last.
    package private(set) var isCrossed: Bool

    /// A threshold as it stands.
    package init(_ kind: Kind, isCrossed: Bool = false) {
        self.kind = kind
        self.isCrossed = isCrossed
    }

    /// Whether a value is beyond a limit.
    package func isBeyond(_ value: Int, limit: Int) -> Bool {
        guard limit > 0 else { return false }
        return kind == .minimumFreeBytes ? value < limit : value > limit
    }

    /// Compares.
    /// - Returns: whether the value has just gone beyond the limit.
    package mutating func evaluate(_ value: Int, limit: Int) -> Bool {
        let isBeyond = isBeyond(value, limit: limit)
        defer { isCrossed = isBeyond }
        return isBeyond && !isCrossed
    }
}
