/// Reads the names of finished files from the bytes of directory entries: many names, of a few logs.
package struct FinishedNameReader {
    /// Each log that was read so far; nil for a name that no log can have.
    private var logs: [[UInt8]: LogName?] = [:]

    private static let stampLength = 14
    /// A count with more digits is invalid: even one file per nanosecond would not reach it.
    private static let maximumCountLength = 9

    package init() {}

    mutating func read(_ bytes: some Sequence<UInt8>) -> FinishedName? { Array(bytes).withUnsafeBytes { read($0) } }

    /// Whether `name` looks like a finished file's name without its extension.
    static func endsInStamp(_ name: String) -> Bool {
        guard let (front, tail) = lastPart(of: name.utf8) else { return false }
        return isStamp(tail) || tail.allSatisfy(isDigit) && lastPart(of: front).map { isStamp($0.tail) } ?? false
    }

    /// The name in these bytes; `nil` if it is not the name of a finished file.
    package mutating func read(_ bytes: UnsafeRawBufferPointer) -> FinishedName? {
        guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")),
            let format = LogFormat(rawValue: Self.text(bytes[(dot + 1)...]))
        else { return nil }
        let stem = bytes[..<dot]
        guard let (front, tail) = Self.lastPart(of: stem) else { return nil }
        var rest = front
        var count = 0
        var stamp = tail
        if tail.count != Self.stampLength {
            guard let number = Self.count(tail), let (front, tail) = Self.lastPart(of: front) else { return nil }
            (rest, stamp, count) = (front, tail, number)
        }
        guard Self.isStamp(stamp), let log = log(rest) else { return nil }
        return FinishedName(log: log, stamp: Self.text(stamp), count: count, format: format)
    }

    /// The log of this name, unless the name ends like that of a finished file.
    private mutating func log(_ bytes: Slice<UnsafeRawBufferPointer>) -> LogName? {
        let key = Array(bytes)
        if let known = logs[key] { return known }
        var log: LogName?
        if Self.lastPart(of: bytes).map({ !Self.isStamp($0.tail) }) ?? true {
            // Compared as bytes: a name that only looks the same is another file's.
            log = LogName(existing: Self.text(bytes)).flatMap { $0.text.utf8.elementsEqual(key) ? $0 : nil }
        }
        logs[key] = .some(log)
        return log
    }

    /// The parts before and after the last "-"; `nil` without one.
    private static func lastPart<Bytes: BidirectionalCollection<UInt8>>(
        of bytes: Bytes
    ) -> (front: Bytes.SubSequence, tail: Bytes.SubSequence)? {
        bytes.lastIndex(of: UInt8(ascii: "-")).map { (bytes[..<$0], bytes[bytes.index(after: $0)...]) }
    }

    /// A number of at least 1, with at least two digits, as `FinishedName` writes it.
    private static func count(_ digits: Slice<UnsafeRawBufferPointer>) -> Int? {
        guard (2...maximumCountLength).contains(digits.count), digits.allSatisfy(isDigit),
            digits.count == 2 || digits.first != UInt8(ascii: "0")
        else { return nil }
        let number = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return number > 0 ? number : nil
    }

    static func isStamp(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.count == stampLength && bytes.allSatisfy(isDigit)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }
}
