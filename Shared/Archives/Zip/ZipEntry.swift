import Messages

/// The headers of a file in a zip (APPNOTE.TXT 6.3.10, PKWARE): local header, data descriptor, central header.
struct ZipEntry {
    /// The compression method.
    enum Method: UInt16 {
        case stored = 0
        case deflated = 8
    }

    let name: String
    let date: WallTime
    let method: Method
    /// The offset of the local header.
    let offset: Int
    /// CRC-32 of the bytes.
    var checksum: UInt32 = 0
    var bytes = 0
    var compressedBytes = 0
    /// Whether the checksum and sizes follow the bytes, because they are not known before.
    var isDescribedBehind = false
    /// Whether sizes have eight bytes.
    var isLarge = false

    /// From this value on, a number does not fit into four bytes and is stored in an extra field.
    static let limit = 0xFFFF_FFFF

    private static let zip64 = 0x0001 as UInt16
    private static let timestamp = 0x5455 as UInt16
    /// Version 4.5 of the format, made on Unix, so that file modes are valid.
    private static let madeBy = 3 << 8 | 45 as UInt16
    private static let mode = 0o100644 as UInt32

    private var flags: UInt16 {
        // Bit 3: a data descriptor follows. Bit 11: the name is UTF-8.
        (isDescribedBehind ? 1 << 3 : 0) | (name.utf8.allSatisfy { $0 < 0x80 } ? 0 : 1 << 11)
    }

    /// The header before the bytes.
    var localHeader: [UInt8] {
        var extra: [UInt8] = []
        if isLarge {
            extra.appendLittle(Self.zip64)
            extra.appendLittle(16 as UInt16)
            extra.appendLittle(UInt64(isDescribedBehind ? 0 : bytes))
            extra.appendLittle(UInt64(isDescribedBehind ? 0 : compressedBytes))
        }
        extra += timestampField
        var header: [UInt8] = [0x50, 0x4B, 0x03, 0x04]
        header.appendLittle(isLarge ? 45 : 20 as UInt16)
        appendCommon(to: &header, isKnown: !isDescribedBehind, sizes: isLarge ? (Self.limit, Self.limit) : nil)
        header.appendLittle(UInt16(name.utf8.count))
        header.appendLittle(UInt16(extra.count))
        return header + name.utf8 + extra
    }

    /// The descriptor after the bytes, if the sizes were not known before.
    var dataDescriptor: [UInt8] {
        var descriptor: [UInt8] = [0x50, 0x4B, 0x07, 0x08]
        descriptor.appendLittle(checksum)
        for size in [compressedBytes, bytes] {
            if isLarge { descriptor.appendLittle(UInt64(size)) } else { descriptor.appendLittle(UInt32(size)) }
        }
        return descriptor
    }

    /// The entry in the directory at the archive's end.
    var centralHeader: [UInt8] {
        let large = [bytes, compressedBytes, offset].filter { $0 >= Self.limit }
        var extra: [UInt8] = []
        if !large.isEmpty {
            extra.appendLittle(Self.zip64)
            extra.appendLittle(UInt16(8 * large.count))
            for number in large { extra.appendLittle(UInt64(number)) }
        }
        extra += timestampField
        var header: [UInt8] = [0x50, 0x4B, 0x01, 0x02]
        header.appendLittle(Self.madeBy)
        header.appendLittle(isLarge || !large.isEmpty ? 45 : 20 as UInt16)
        appendCommon(to: &header, isKnown: true, sizes: nil)
        header.appendLittle(UInt16(name.utf8.count))
        header.appendLittle(UInt16(extra.count))
        // No comment, first disk, no internal attributes.
        header += [0, 0, 0, 0, 0, 0]
        header.appendLittle(Self.mode << 16)
        header.appendLittle(UInt32(min(offset, Self.limit)))
        return header + name.utf8 + extra
    }

    private func appendCommon(to header: inout [UInt8], isKnown: Bool, sizes: (Int, Int)?) {
        header.appendLittle(flags)
        header.appendLittle(method.rawValue)
        let (time, day) = dosTime
        header.appendLittle(time)
        header.appendLittle(day)
        header.appendLittle(isKnown ? checksum : 0)
        let known = isKnown ? (compressedBytes, bytes) : (0, 0)
        header.appendLittle(UInt32(min((sizes ?? known).0, Self.limit)))
        header.appendLittle(UInt32(min((sizes ?? known).1, Self.limit)))
    }

    /// Seconds since 1970 in UTC, in Info-ZIP's extra field; empty if the value does not fit.
    private var timestampField: [UInt8] {
        guard let seconds = Int32(exactly: date.nanosecondsSince1970 / 1_000_000_000) else { return [] }
        var field: [UInt8] = []
        field.appendLittle(Self.timestamp)
        field.appendLittle(5 as UInt16)
        field.append(1)
        field.appendLittle(seconds)
        return field
    }

    /// The date in UTC, so that it is the same on every machine. In steps of two seconds, from 1980 on.
    private var dosTime: (time: UInt16, day: UInt16) {
        let digits = date.utcText.utf8.filter { (0x30...0x39).contains($0) }.map { UInt16($0 - 0x30) }
        func number(_ from: Int) -> UInt16 { digits[from] * 10 + digits[from + 1] }
        let year = number(0) * 100 + number(2)
        guard year >= 1980, year < 2108 else { return (0, 1 << 5 | 1) }
        return (number(8) << 11 | number(10) << 5 | number(12) / 2, (year - 1980) << 9 | number(4) << 5 | number(6))
    }
}
