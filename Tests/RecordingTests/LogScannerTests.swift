import Files
import FoundationEssentials
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct LogScannerTests {
    /// Lends a log with every kind of record, its bytes, and the state after each record.
    private func withLog(
        _ kind: Int, _ body: (FilePath, LogFormat, JSONRoot, [UInt8], [RecordedLog.State]) throws -> Void
    ) throws {
        try withRecordedLog(kind) { log in
            try log.samples(2)
            try log.gap(5)
            try log.samples(1)
            try log.leaveOut(3)
            try log.beginEpoch("E2")
            try log.samples(1)
            try log.stop()
            try body(log.path, log.format, log.root, bytes(of: log.path), log.states)
        }
    }

    /// The scanner's result for a record.
    private struct Scanned: Equatable {
        var isSample: Bool
        var isProven: Bool
        var end: Int
    }

    private func scan(
        _ path: FilePath, _ format: LogFormat, _ root: JSONRoot, from offset: Int? = nil
    ) throws -> (records: [Scanned], end: Int, isClean: Bool) {
        var scanner = try LogScanner(path, format: format, root: root, from: offset)
        var records: [Scanned] = []
        while let record = try scanner.next() {
            records.append(Scanned(isSample: record.isSample, isProven: record.isProven, end: scanner.end))
        }
        return (records, scanner.end, scanner.isClean)
    }

    @Test(arguments: 0..<5)
    func recordsAreFoundWithTheirKindAndPlace(kind: Int) throws {
        try withLog(kind) { path, format, root, bytes, states in
            let (records, end, isClean) = try scan(path, format, root)
            #expect(records.map(\.end) == states.map(\.end))
            #expect(isClean)
            #expect(end + (format == .json ? root.end.utf8.count : 0) == bytes.count)
            #expect(
                records.map(\.isSample) == [false, true, true, false, true, false, false, true, false])
            // Starting at the end of each record, the scanner finds the later ones.
            for (index, state) in states.enumerated() {
                let rest = try scan(path, format, root, from: state.end)
                #expect(rest.records == Array(records[(index + 1)...]))
                #expect(rest.isClean)
            }
        }
    }

    @Test(arguments: 0..<5)
    func ofALogCutAnywhereTheWholeRecordsAreFound(kind: Int) throws {
        try withLog(kind) { path, format, root, bytes, states in
            // The two roots of JSON, and the two tables, are cut at different positions.
            for length in stride(from: kind, to: bytes.count, by: 4) {
                try write(bytes[..<length], to: path)
                let (records, end, isClean) = try scan(path, format, root)
                let whole = states.filter { $0.end <= length }
                let proven = whole.filter { !format.isTable || !$0.describes }
                #expect(records.filter(\.isProven).count == proven.count)
                if let last = whole.last { #expect(end == last.end) }
                // Only a table that ends between two records looks complete.
                #expect(!isClean || format != .json && (whole.last?.end == length || whole.isEmpty))
            }
        }
    }

    @Test(arguments: 0..<5)
    func whatStandsBehindTheEndIsNoRecord(kind: Int) throws {
        try withLog(kind) { path, format, root, bytes, states in
            let end = states[states.count - 1].end
            var random = SplitMix(seed: 5)
            let garbage: [[UInt8]] = [
                [0], [UInt8](repeating: 0, count: 8192), Array("x".utf8), Array("\n".utf8), Array(",\n".utf8),
                Array(",\n{}".utf8), Array(",\n{\"uptime\":1}".utf8), Array("\n\n".utf8), Array("\n1,2,3\n".utf8),
                Array("\n\"".utf8), Array("\n]".utf8), Array("\n]\n}\n]".utf8), Array("\n1,1,s,gyro,x,,,,,,,,,,".utf8),
                Array("\u{FEFF}".utf8), [0xFF, 0xFE], (0..<1000).map { _ in UInt8.random(in: 0...255, using: &random) },
            ]
            for tail in garbage {
                for start in [end, bytes.count] {
                    try write(bytes[..<start] + tail, to: path)
                    let result = try scan(path, format, root)
                    // Text in a table's last line changes that line.
                    let isLost = format != .json && tail[0] != 0 && tail[0] != UInt8(ascii: "\n")
                    #expect(result.end == (isLost ? states[states.count - 2].end : end), "\(tail.prefix(20))")
                    #expect(result.records.count == states.count - (isLost ? 1 : 0))
                    #expect(!result.isClean || bytes[end...].elementsEqual(bytes[end..<start] + tail))
                }
            }
        }
    }

    /// After a power cut, an unwritten page still has its old contents: the former terminator, then zeros.
    @Test(arguments: 0..<5)
    func aPageOfEarlierEndsTheLog(kind: Int) throws {
        try withLog(kind) { path, format, root, bytes, states in
            let terminator = Array(format == .json ? root.end.utf8 : "".utf8)
            for (index, state) in states.dropLast().enumerated() {
                // The page may begin anywhere up to 24 bytes after the old end.
                for page in stride(from: state.end, to: min(state.end + 24, bytes.count), by: 1 + kind) {
                    let old = bytes[..<state.end] + terminator + [UInt8](repeating: 0, count: bytes.count)
                    let mixed = Array(old[..<page]) + bytes[page...]
                    if mixed == bytes { continue }
                    try write(mixed, to: path)
                    let result = try scan(path, format, root)
                    #expect(result.records.count == index + 1)
                    #expect(result.end == state.end)
                    #expect(!result.isClean)
                }
            }
        }
    }

    @Test(arguments: 0..<5)
    func recordsSayTheSameInEveryFormat(kind: Int) throws {
        try withLog(kind) { path, format, root, _, _ in
            let records = try records(of: path, format, root)
            let first = records[0]
            #expect(first.marker == "start")
            #expect(first.stepPath == "W, \"f\"/a\nb")
            #expect(first.position?.epoch == "E1")
            #expect(first.position?.from == 0)
            #expect(first["device"] == "phone")
            #expect(first["unit"] == "rad/s")
            #expect(first["rate"] == "100")
            #expect(try first.date == WallTime(iso8601: "2026-11-21T02:55:01.123Z"))
            #expect(
                records[2].columns.map { "\($0.name)=\($0.text)" } == [
                    "uptime=1000.01", "timestamp=0.01", "stepPath=W, \"f\"/a\nb", "sensorType=gyro",
                    "x=1", "y=1",
                ])
            #expect(records[2].marker == nil)
            let gap = try #require(records[3].gap)
            #expect((gap.epoch, gap.from, gap.count, gap.reason) == ("E1", 2, 5, .notRetained))
            #expect(records[5].marker == "pause")
            #expect(records[5].gap == nil)
        }
    }

    @Test(arguments: [LogFormat.json, .csv, .tsv])
    func valuesThatAreNoNumbersAreRead(format: LogFormat) throws {
        try withTemporaryDirectory { directory in
            var formatter = RecordFormatter(
                format: format, sensorType: "g,y\"ro\tß", fields: ["uptime", "marker", "sensorType", "é\n"])
            let file = try LogFile(
                creating: LogName("l"), in: directory, format: format, root: .array, startDate: "",
                header: formatter.header)
            var buffer = ByteBuffer(capacity: 0)
            let json = Array(#"[[1.50,"NaN","-Infinity",null],[2e0,"NaN","Infinity",-0.10]]"#.utf8)
            _ = try json.withUnsafeBytes { frame in
                try formatter.append(
                    values: 0..<frame.count, of: frame, count: 2, rows: 0..<2,
                    timeline: SessionTimeline(task: "", step: ""), origin: 0, to: &buffer)
            }
            try file.append(&buffer, samples: 2)
            let records = try records(of: file.path, format, .array)
            #expect(records.map(\.sensorType) == ["g,y\"ro\tß", "g,y\"ro\tß"])
            #expect(records.map { $0["marker_"] } == ["NaN", "NaN"])
            #expect(records.map { $0["sensorType_"] } == ["-Infinity", "Infinity"])
            #expect(records.map { $0["é\n"] } == [nil, "-0.10"])
            #expect(records.map { $0["uptime"] } == ["1.50", "2e0"])
        }
    }

    @Test(arguments: 0..<5)
    func recordsLongerThanAPieceAreRead(kind: Int) throws {
        let (format, root) = logKinds[kind]
        try withTemporaryDirectory { directory in
            let formatter = RecordFormatter(format: format, sensorType: "gyro", fields: ["uptime", "x"])
            let file = try LogFile(
                creating: LogName("l"), in: directory, format: format, root: root, startDate: "",
                header: formatter.header)
            let step = String(repeating: "long, \"step\"\n", count: 25_000)
            for _ in 0..<3 {
                var buffer = ByteBuffer(capacity: 0)
                formatter.append(Marker(.step, time: 0, date: "", stepPath: step), origin: 0, to: &buffer)
                formatter.append(Marker(.pause, time: 0, date: "", stepPath: "s"), origin: 0, to: &buffer)
                try file.append(&buffer, samples: 0)
            }
            let records = try records(of: file.path, format, root)
            #expect(records.map(\.marker) == ["step", "pause", "step", "pause", "step", "pause"])
            #expect(records[4].stepPath == step)
        }
    }

    @Test(arguments: 0..<5)
    func aLogWithoutRecordsIsClean(kind: Int) throws {
        let (format, root) = logKinds[kind]
        try withTemporaryDirectory { directory in
            let formatter = RecordFormatter(format: format, sensorType: "gyro", fields: ["uptime", "x"])
            let file = try LogFile(
                creating: LogName("l"), in: directory, format: format, root: root, startDate: "2026",
                header: formatter.header)
            let result = try scan(file.path, format, root)
            #expect(result.isClean)
            #expect(result.records.isEmpty)
            let whole = try bytes(of: file.path)
            for length in 0..<whole.count {
                try write(whole[..<length], to: file.path)
                #expect(try scan(file.path, format, root).records.isEmpty)
            }
        }
    }

    @Test func aFileThatIsNotThereIsAnError() throws {
        try withTemporaryDirectory { directory in
            _ = #expect(throws: RecordingError.self) {
                _ = try LogScanner(directory.path.appending("l.json"), format: .json, root: .array)
            }
        }
    }
}
