package import Files
package import Messages

/// The name of a finished stream file: `<log>-yyyyMMddHHmmss[-NN].<extension>`.
///
/// The stamp is in UTC. The second and later files of one second are numbered from 1, with at least two digits. Names sort in the
/// order in which the files were finished, by numbers and not by text: `-100` follows `-99`.
package struct FinishedName: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let log: LogName

    /// `yyyyMMddHHmmss` in UTC: 14 digits.
    package let stamp: String

    /// The number of the log's files that were finished earlier in the same second.
    package let count: Int

    package let format: LogFormat

    /// The name of a file finished at `stamp`, which must have 14 digits.
    package init(log: LogName, stamp: String, count: Int = 0, format: LogFormat) {
        precondition(FinishedNameReader.isStamp(stamp.utf8) && count >= 0, "A finished file's stamp has 14 digits.")
        self.log = log
        self.stamp = stamp
        self.count = count
        self.format = format
    }

    /// The name of a file finished at `date`, greater than the name of the log's latest finished file: if the clock stood still
    /// or was set back, the name continues the numbering of the last stamp.
    package init(log: LogName, finishedAt date: WallTime, after last: FinishedName?, format: LogFormat) {
        let stamp = Self.stamp(of: date)
        if let last, stamp <= last.stamp {
            self.init(log: log, stamp: last.stamp, count: last.count + 1, format: format)
        } else {
            self.init(log: log, stamp: stamp, format: format)
        }
    }

    package static func stamp(of date: WallTime) -> String {
        String(date.utcText.filter(\.isNumber).prefix(14))
    }

    /// Reads a file's name; `nil` if it is not the name of a finished file of `log`.
    package init?(_ fileName: String, of log: LogName) {
        self.init(fileName: fileName.utf8)
        if self.log != log { return nil }
    }

    /// Reads the name of a file of any log; `nil` if it is not the name of a finished file.
    ///
    /// No log has a name that ends in a stamp, so the text before the stamp is the log's name. A name that can be read in two
    /// ways is not read at all.
    package init?(fileName: some Sequence<UInt8>) {
        var reader = FinishedNameReader()
        guard let name = reader.read(fileName) else { return nil }
        self = name
    }

    /// The finished files among a directory's names, by their logs, each log's in the order in which they were finished.
    static func byLog(_ names: some Sequence<String>) -> [LogName: [FinishedName]] {
        var reader = FinishedNameReader()
        return Dictionary(grouping: names.compactMap { reader.read($0.utf8) }, by: \.log).mapValues { $0.sorted() }
    }

    /// When the file was finished, rounded down to the second.
    package var date: WallTime? {
        let digits = Array(stamp)
        func part(_ start: Int, _ count: Int) -> String { String(digits[start..<(start + count)]) }
        let day = "\(part(0, 4))-\(part(4, 2))-\(part(6, 2))"
        return try? WallTime(iso8601: "\(day)T\(part(8, 2)):\(part(10, 2)):\(part(12, 2))Z")
    }

    /// The stamp as a number, in the same order.
    package var stampNumber: Int64 { Int64(stamp) ?? 0 }

    package var description: String {
        let number = count == 0 ? "" : count < 10 ? "-0\(count)" : "-\(count)"
        return "\(log)-\(stamp)\(number).\(format.rawValue)"
    }

    package var next: FinishedName {
        FinishedName(log: log, stamp: stamp, count: count + 1, format: format)
    }

    /// This name, or the next one that is not in a directory: no name is used twice.
    package func free(in directory: Directory) -> FinishedName {
        var name = self
        while directory.contains(name.description) { name = name.next }
        return name
    }

    package static func < (one: FinishedName, other: FinishedName) -> Bool {
        // Stamps have equal length, so their order as text is their order in time.
        (one.stamp, one.count, one.log) < (other.stamp, other.count, other.log)
    }
}
