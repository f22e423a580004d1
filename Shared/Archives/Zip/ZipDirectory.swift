import Encryption

/// The directory at a zip's end, from which other programs read its files.
///
/// A sequential reader does not use it.
struct ZipDirectory {
    struct Entry: Hashable {
        var name: String
        /// CRC-32.
        var checksum: UInt32
        var bytes: Int
    }

    /// In the order of the directory.
    let entries: [Entry]

    private static let endLength = 22
    private static let locatorLength = 20
    private static let largeEndLength = 56
    private static let maximumSize = 1 << 30

    /// Reads the directory of a zip without a comment after it, as Holdfast writes them.
    ///
    /// - Throws: `damaged` if there is no directory.
    init(_ file: ArchiveInput) throws(ArchiveError) {
        let length = try file.length()
        let fault = ArchiveError(
            .damaged,
            "\(file.path) has no directory at its end, or another one than was made. It may be incomplete: "
                + "get it again.")
        let place = length - Self.endLength
        guard place >= 0, let end = LittleEndianBytes(try file.bytes(at: place, count: Self.endLength)),
            end.number(0, 4) == 0x0605_4B50, end.number(20, 2) == 0
        else { throw fault }
        var count = end.number(10, 2)
        var size = end.number(12, 4)
        var start = end.number(16, 4)
        var directoryEnd = place
        if let large = try Self.largeEnd(file, before: place) {
            (count, size, start, directoryEnd) = large
        }
        guard (0...Self.maximumSize).contains(size), start == directoryEnd - size else { throw fault }
        let bytes = try file.bytes(at: start, count: size)
        guard let entries = Self.entries(bytes), entries.count == count else { throw fault }
        self.entries = entries
    }

    /// The zip64 end of a directory; `nil` if there is none.
    private static func largeEnd(
        _ file: ArchiveInput, before place: Int
    ) throws(ArchiveError) -> (count: Int, size: Int, start: Int, end: Int)? {
        guard place >= locatorLength + largeEndLength,
            let locator = LittleEndianBytes(try file.bytes(at: place - locatorLength, count: locatorLength)),
            locator.number(0, 4) == 0x0706_4B50
        else { return nil }
        let offset = place - locatorLength - largeEndLength
        guard locator.number(8, 8) == offset,
            let end = LittleEndianBytes(try file.bytes(at: offset, count: largeEndLength)),
            end.number(0, 4) == 0x0606_4B50
        else { return nil }
        return (end.number(32, 8), end.number(40, 8), end.number(48, 8), offset)
    }

    private static func entries(_ bytes: [UInt8]) -> [Entry]? {
        var entries: [Entry] = []
        var place = 0
        while place < bytes.count {
            guard place + 46 <= bytes.count, let header = LittleEndianBytes(Array(bytes[place..<place + 46])),
                header.number(0, 4) == 0x0201_4B50
            else { return nil }
            let nameEnd = place + 46 + header.number(28, 2)
            let extraEnd = nameEnd + header.number(30, 2)
            guard extraEnd + header.number(32, 2) <= bytes.count else { return nil }
            var size = header.number(24, 4)
            if size == ZipEntry.limit {
                guard let large = LittleEndianBytes(Array(bytes[nameEnd..<extraEnd])), large.count >= 12,
                    large.number(0, 2) == 1
                else { return nil }
                size = large.number(4, 8)
            }
            let name = String(decoding: bytes[place + 46..<nameEnd], as: UTF8.self)
            entries.append(Entry(name: name, checksum: UInt32(header.number(16, 4)), bytes: size))
            place = extraEnd + header.number(32, 2)
        }
        return entries
    }
}
