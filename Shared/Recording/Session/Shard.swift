package import Files

/// The devices that a recorder records if several recorders split the work: `2/3` is the second of three parts.
///
/// A device always belongs to the same part: FNV-1a (64 bits, the hash of Fowler, Noll and Vo) of its name's UTF-8, modulo the
/// number of parts.
package struct Shard: RawRepresentable, Codable, Hashable, Sendable, CustomStringConvertible {
    private static let maximumCount = 1_000

    /// From 1.
    package let number: Int
    package let count: Int

    package init?(rawValue text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let number = parts[0], let count = parts[1], 1...Self.maximumCount ~= count,
            1...count ~= number
        else { return nil }
        self.init(number: number, of: count)
        // No signs and no leading zeros: a part has one name.
        guard description == text else { return nil }
    }

    private init(number: Int, of count: Int) {
        self.number = number
        self.count = count
    }

    package init(of device: String, count: Int) {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in device.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        self.init(number: Int(hash % UInt64(count)) + 1, of: count)
    }

    package func owns(_ device: String) -> Bool { Shard(of: device, count: count) == self }

    package var rawValue: String { "\(number)/\(count)" }

    package var description: String { rawValue }

    /// Suffix for the names of files that each part has for itself.
    package var fileSuffix: String { "-\(number)-of-\(count)" }
}

extension DiskReserve {
    /// The reserve of a recorder: `recordings/.reserve`, or `recordings/.reserve-2-of-3` if recorders share the data directory.
    /// `.reserve-end` is used for the ends of sessions only.
    ///
    /// - Parameter name: the file's name without the shard's suffix.
    package init(in directory: Directory, shard: Shard?, name: String = ".reserve", bytes: Int = 1 << 20) {
        self.init(in: directory, name: name + (shard?.fileSuffix ?? ""), bytes: bytes)
    }
}
