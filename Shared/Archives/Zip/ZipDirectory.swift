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

    /// How other programs find and read an entry's file.
    private struct Location {
        /// The flags and the method, as both headers of the file state them.
        var flagsAndMethod: Int
        var compressedBytes: Int
        /// The offset of the local header.
        var offset: Int
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
        guard let found = Self.entries(bytes), found.count == count, try Self.areInTurn(found, to: start, in: file)
        else { throw fault }
        entries = found.map(\.entry)
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

    /// Whether the files follow one another where the directory states, from the archive's beginning to the directory.
    private static func areInTurn(
        _ found: [(entry: Entry, location: Location)], to end: Int, in file: ArchiveInput
    ) throws(ArchiveError) -> Bool {
        var place = 0
        for (entry, location) in found {
            let name = Array(entry.name.utf8)
            // With the first number of the extra fields.
            let local = try file.bytes(at: place, count: 32 + name.count)
            guard location.offset == place, location.compressedBytes <= end, local.count == 32 + name.count,
                let header = LittleEndianBytes(local), header.number(0, 4) == 0x0403_4B50,
                header.number(6, 4) == location.flagsAndMethod, header.number(26, 2) == name.count,
                local[30..<30 + name.count].elementsEqual(name)
            else { return false }
            let extra = header.number(28, 2)
            // Bit 3: a data descriptor follows. Its sizes have eight bytes if there is a zip64 field.
            let isLarge = extra > 0 && header.number(30 + name.count, 2) == 1
            let descriptor = location.flagsAndMethod & 1 << 3 == 0 ? 0 : isLarge ? 24 : 16
            place += 30 + name.count + extra + location.compressedBytes + descriptor
        }
        return place == end
    }

    private static func entries(_ bytes: [UInt8]) -> [(entry: Entry, location: Location)]? {
        var entries: [(entry: Entry, location: Location)] = []
        var place = 0
        while place < bytes.count {
            guard place + 46 <= bytes.count, let header = LittleEndianBytes(Array(bytes[place..<place + 46])),
                header.number(0, 4) == 0x0201_4B50
            else { return nil }
            let nameEnd = place + 46 + header.number(28, 2)
            let extraEnd = nameEnd + header.number(30, 2)
            guard extraEnd + header.number(32, 2) <= bytes.count else { return nil }
            var (size, compressed, offset) = (header.number(24, 4), header.number(20, 4), header.number(42, 4))
            if [size, compressed, offset].contains(ZipEntry.limit) {
                guard let large = LittleEndianBytes(Array(bytes[nameEnd..<extraEnd])), large.number(0, 2) == 1
                else { return nil }
                // The field has only the numbers that do not fit into four bytes.
                var next = 4
                func widen(_ number: inout Int) {
                    guard number == ZipEntry.limit else { return }
                    number = large.number(next, 8)
                    next += 8
                }
                widen(&size)
                widen(&compressed)
                widen(&offset)
                guard next <= large.count else { return nil }
            }
            let name = String(decoding: bytes[place + 46..<nameEnd], as: UTF8.self)
            let entry = Entry(name: name, checksum: UInt32(header.number(16, 4)), bytes: size)
            let location = Location(flagsAndMethod: header.number(8, 4), compressedBytes: compressed, offset: offset)
            entries.append((entry, location))
            place = extraEnd + header.number(32, 2)
        }
        return entries
    }
}
