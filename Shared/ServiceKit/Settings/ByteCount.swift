import ArgumentParser

/// A size as people type it: `100MB`, `1.5 GB`, `64KiB`, `1048576`.
///
/// KB, MB, GB and TB are powers of 1000; KiB, MiB, GiB and TiB powers of 1024; a number alone, or with B, is in bytes. Case
/// does not matter, because sizes are never in bits.
package struct ByteCount: Hashable, Sendable {
    /// The size in bytes, never negative.
    package let bytes: Int

    /// `bytes` must not be negative.
    package init(bytes: Int) {
        precondition(bytes >= 0, "a size is not negative")
        self.bytes = bytes
    }

    /// In descending order, as `description` needs them.
    private static let units: [(name: String, bytes: Int)] = [
        ("TiB", 1 << 40), ("TB", 1_000_000_000_000), ("GiB", 1 << 30), ("GB", 1_000_000_000), ("MiB", 1 << 20),
        ("MB", 1_000_000), ("KiB", 1 << 10), ("KB", 1000), ("B", 1),
    ]

    private static let unitsByName = Dictionary(
        uniqueKeysWithValues: units.map { ($0.name.lowercased(), Int64($0.bytes)) } + [("", 1)])
}

extension ByteCount: Comparable {
    package static func < (left: ByteCount, right: ByteCount) -> Bool { left.bytes < right.bytes }
}

extension ByteCount: ConfigurationValue, ExpressibleByArgument {
    package init(typed text: String) throws(InvalidValue) {
        guard let bytes = Quantity.parse(text.lowercased(), units: Self.unitsByName) else {
            throw InvalidValue("'\(text)' is not a size: write 64KiB, 100MB, 1.5GB or a number of bytes")
        }
        self.init(bytes: Int(bytes))
    }

    /// The size in the largest unit that gives a whole number: `64KiB`, `1500MB`.
    package var description: String {
        let unit = Self.units.first { bytes >= $0.bytes && bytes.isMultiple(of: $0.bytes) }
        guard let unit else { return "0B" }
        return "\(bytes / unit.bytes)\(unit.name)"
    }
}

extension ByteCount {
    /// The size for people, with about three digits: `354.6 kB`, `1.25 GB`.
    package var rounded: String {
        func text(_ size: Double, scale: Double, _ unit: String) -> String {
            let number = (size * scale).rounded() / scale
            return "\(number) \(unit)"
        }
        return switch bytes {
        case ..<1_000: "\(bytes) B"
        case ..<1_000_000: text(Double(bytes) / 1e3, scale: 10, "kB")
        case ..<1_000_000_000: text(Double(bytes) / 1e6, scale: 10, "MB")
        default: text(Double(bytes) / 1e9, scale: 100, "GB")
        }
    }
}
