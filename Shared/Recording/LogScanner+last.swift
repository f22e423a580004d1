import SystemPackage

extension LogScanner {
    /// The last records of a part of a log, found from its end.
    struct Last {
        /// The uptime of the last sample, in seconds; `nil` if there is none near the end.
        var uptime: Double?
        /// The word of the last record, where it is a marker.
        var marker: String?
    }

    private static let lookBackSize = 64 << 10

    /// What stands last before a place, which must be the end of a record.
    ///
    /// A line feed near the end may be the beginning of a record, or stand in a text: it is one if the records behind it
    /// lead exactly to the end.
    static func last(
        in path: FilePath, before end: Int, format: LogFormat, root: JSONRoot
    ) throws(RecordingError) -> Last? {
        let start = max(0, end - lookBackSize)
        var bytes: [UInt8] = []
        if start < end {
            try OpenFile(path, .readOnly, action: "read").forEachPiece(in: start..<end) { bytes += $0 }
        }
        var starts = bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }.map { start + $0 }
        if format == .json { starts = starts.map { $0 - 1 } }
        if start == 0 { starts.insert(0, at: 0) }
        for place in starts {
            var scanner = try LogScanner(path, format: format, root: root, from: place)
            var last = Last()
            while scanner.end < end, let record = try scanner.next() {
                if record.kind == .sample {
                    last.uptime = scanner.uptime
                    last.marker = nil
                } else {
                    last.marker = scanner.record.marker
                }
            }
            if scanner.end == end { return last }
        }
        return nil
    }
}
