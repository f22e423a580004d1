import Foundation
import Messages
import Recording
import SystemPackage
import Testing

@Suite(.timeLimit(.minutes(1)))
struct LogFileTests {
    private static let date = "2017-10-16T22:28:09.000-07:00"
    private static let kinds: [(LogFormat, JSONRoot)] = [
        (.json, .array), (.json, .dictionary), (.csv, .array), (.tsv, .array),
    ]

    private let name = LogName("phone_accelerometer")
    private let formatter = RecordFormatter(
        format: .json, sensorType: "accelerometer", fields: ["uptime", "x", "y", "z"])

    private func makeFile(
        in directory: Directory, _ format: LogFormat = .json, _ root: JSONRoot = .array, calls: FileCalls = .system
    ) throws -> LogFile {
        try LogFile(
            creating: name, in: directory, format: format, root: root, startDate: Self.date,
            header: RecordFormatter(format: format, sensorType: "accelerometer", fields: ["uptime", "x"]).header,
            calls: calls)
    }

    /// Marker, two samples, marker, one sample: the upstream tests' log. Each batch is one append.
    private func batches(_ format: LogFormat) -> [(text: String, samples: Int)] {
        var formatter = RecordFormatter(format: format, sensorType: "accelerometer", fields: ["uptime", "x"])
        var timeline = SessionTimeline(task: "Task", step: "step1")
        let start = formatter.text(Marker(.start, time: 0, date: Self.date, stepPath: "Task/step1"))
        let first = formatter.text(packed: Rows(values: [[0.01, 1.2], [0.02, 1.3]]), timeline: timeline).text
        timeline.move(to: "step2", at: 30_000_000)
        let step = formatter.text(Marker(.step, time: 30_000_000, date: Self.date, stepPath: "Task/step2"))
        let second = formatter.text(packed: Rows(values: [[0.03, 1.4]]), timeline: timeline).text
        return [(start, 0), (first, 2), (step, 0), (second, 1)]
    }

    // MARK: Bytes

    @Test func aLogWithoutRecordsIsValid() throws {
        try withTemporaryDirectory { directory in
            let file = try makeFile(in: directory)
            #expect(try text(of: file.path) == "[\n\n]")
            #expect(file.byteCount == 4)
        }
        try withTemporaryDirectory { directory in
            let file = try makeFile(in: directory, .json, .dictionary)
            #expect(
                try text(of: file.path)
                    == "{\n\"startDate\" : \"2017-10-16T22:28:09.000-07:00\",\n\"items\"     : [\n]\n}")
        }
        try withTemporaryDirectory { directory in
            let file = try makeFile(in: directory, .csv)
            #expect(
                try text(of: file.path)
                    == "uptime,timestamp,stepPath,sensorType,x,timestampDate,marker,epoch,from,count,reason")
            #expect(file.path.lastComponent?.string == "phone_accelerometer.csv")
        }
    }

    /// SEEDS case 29.
    @Test func aRootArrayHasItsRecordsOnLines() throws {
        try withTemporaryDirectory { directory in
            let file = try makeFile(in: directory)
            for batch in batches(.json) { try append(batch, to: file) }
            #expect(
                try text(of: file.path) == """
                    [
                    {"uptime":0,"timestamp":0,"stepPath":"Task/step1","timestampDate":"\(Self.date)","marker":"start"},
                    {"uptime":0.01,"timestamp":0.01,"stepPath":"Task/step1","sensorType":"accelerometer","x":1.2},
                    {"uptime":0.02,"timestamp":0.02,"stepPath":"Task/step1","sensorType":"accelerometer","x":1.3},
                    {"uptime":0.03,"timestamp":0.03,"stepPath":"Task/step2","timestampDate":"\(Self.date)","marker":"step"},
                    {"uptime":0.03,"timestamp":0.03,"stepPath":"Task/step2","sensorType":"accelerometer","x":1.4}
                    ]
                    """)
            #expect(file.sampleCount == 3)
            #expect(try records(of: file.path) == 5)
        }
    }

    /// SEEDS case 28.
    @Test func aRootDictionaryHasItsStartDate() throws {
        try withTemporaryDirectory { directory in
            let file = try makeFile(in: directory, .json, .dictionary)
            for batch in batches(.json) { try append(batch, to: file) }
            #expect(
                try text(of: file.path) == """
                    {
                    "startDate" : "\(Self.date)",
                    "items"     : [{"uptime":0,"timestamp":0,"stepPath":"Task/step1","timestampDate":"\(Self.date)","marker":"start"},
                    {"uptime":0.01,"timestamp":0.01,"stepPath":"Task/step1","sensorType":"accelerometer","x":1.2},
                    {"uptime":0.02,"timestamp":0.02,"stepPath":"Task/step1","sensorType":"accelerometer","x":1.3},
                    {"uptime":0.03,"timestamp":0.03,"stepPath":"Task/step2","timestampDate":"\(Self.date)","marker":"step"},
                    {"uptime":0.03,"timestamp":0.03,"stepPath":"Task/step2","sensorType":"accelerometer","x":1.4}
                    ]
                    }
                    """)
        }
    }

    /// SEEDS case 30.
    @Test func aTableHasALinePerRecordAndNoneEmpty() throws {
        try withTemporaryDirectory { directory in
            let file = try makeFile(in: directory, .csv)
            for batch in batches(.csv) { try append(batch, to: file) }
            let lines = try text(of: file.path).split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count == 6)
            #expect(lines[1] == "0,0,Task/step1,,,\(Self.date),start,,,,")
            #expect(lines[2] == "0.01,0.01,Task/step1,accelerometer,1.2,,,,,,")
            #expect(lines[5] == "0.03,0.03,Task/step2,accelerometer,1.4,,,,,,")
        }
    }

    @Test(arguments: 0..<4)
    func aLogIsValidAfterEveryWrite(kind: Int) throws {
        let (format, root) = Self.kinds[kind]
        try withTemporaryDirectory { directory in
            let file = try makeFile(in: directory, format, root)
            var expected = 0
            for batch in batches(format) + batches(format) {
                try append(batch, to: file)
                expected += batch.text.split(separator: "\n").filter { $0 != "," }.count
                #expect(try records(of: file.path) == expected)
                #expect(try text(of: file.path).utf8.count == file.byteCount)
            }
        }
    }

    @Test func anEmptyBufferWritesNothing() throws {
        try withTemporaryDirectory { directory in
            let faults = Faults()
            let file = try makeFile(in: directory, calls: faults.failing(write: .max))
            try append(("", 0), to: file)
            #expect(faults.writeCount == 1)
        }
    }

    @Test func anAppendIsOneWrite() throws {
        try withTemporaryDirectory { directory in
            let faults = Faults()
            let file = try makeFile(in: directory, calls: faults.failing(write: .max))
            for batch in batches(.json) { try append(batch, to: file) }
            #expect(faults.writeCount == 5)
        }
    }

    @Test func anExistingFileIsNotTouched() throws {
        try withTemporaryDirectory { directory in
            try append(batches(.json)[1], to: try makeFile(in: directory))
            let before = try text(of: directory.path.appending("phone_accelerometer.json"))
            #expect(throws: RecordingError.self) { try makeFile(in: directory) }
            #expect(try text(of: directory.path.appending("phone_accelerometer.json")) == before)
        }
    }

    // MARK: Faults

    /// The file is always what it was before the append that failed, and the append can be made again.
    @Test(arguments: 0..<4, [0, 1, 7, 40])
    func aWriteThatFailsLeavesThePrefix(kind: Int, partialBytes: Int) throws {
        let (format, root) = Self.kinds[kind]
        let batches = batches(format)
        // Write 1 is the header.
        for number in 2...batches.count + 1 {
            try withTemporaryDirectory { directory in
                let file = try makeFile(
                    in: directory, format, root, calls: Faults().failing(write: number, after: partialBytes))
                var written = 0
                var failures = 0
                for batch in batches {
                    let before = (try text(of: file.path), file.byteCount, file.sampleCount)
                    do throws(RecordingError) {
                        try append(batch, to: file)
                    } catch {
                        failures += 1
                        #expect(error.code == .inputOutput)
                        #expect(error.path == file.path)
                        #expect((try text(of: file.path), file.byteCount, file.sampleCount) == before)
                        #expect(try records(of: file.path) == written)
                        // Once more, on a disk that works again.
                        try append(batch, to: file)
                    }
                    written += batch.text.split(separator: "\n").filter { $0 != "," }.count
                    #expect(try records(of: file.path) == written)
                }
                #expect(failures == 1)
                #expect(try text(of: file.path) == wholeText(of: batches, format, root))
            }
        }
    }

    @Test(arguments: 0..<4)
    func aDiskThatFillsUpAtAnyByteLeavesAValidPrefix(kind: Int) throws {
        let (format, root) = Self.kinds[kind]
        let batches = batches(format)
        try withTemporaryDirectory { directory in
            let capacity = Shared(try wholeText(of: [], format, root).utf8.count)
            let file = try makeFile(in: directory, format, root, calls: Faults.disk(of: capacity))
            var written = 0
            for batch in batches {
                // The disk grows by a byte at a time until the batch fits.
                var failures = 0
                while true {
                    let before = try text(of: file.path)
                    do throws(RecordingError) {
                        try append(batch, to: file)
                        break
                    } catch {
                        failures += 1
                        capacity.value += 1
                        #expect(error.code == .noSpace)
                        #expect(try text(of: file.path) == before)
                        #expect(try records(of: file.path) == written)
                    }
                }
                written += batch.text.split(separator: "\n").filter { $0 != "," }.count
                #expect(try records(of: file.path) == written)
                #expect(file.byteCount == capacity.value)
                #expect(failures > 20)
            }
            #expect(try text(of: file.path) == wholeText(of: batches, format, root))
        }
    }

    @Test(arguments: 0..<4)
    func aFileThatCannotBeBegunIsNotLeftBehind(kind: Int) throws {
        let (format, root) = Self.kinds[kind]
        for capacity in 0..<(try wholeText(of: [], format, root).utf8.count) {
            try withTemporaryDirectory { directory in
                #expect(throws: RecordingError.self) {
                    try makeFile(in: directory, format, root, calls: Faults.disk(of: Shared(capacity)))
                }
                let names = try directory.names()
                #expect(names.isEmpty)
            }
        }
    }

    @Test func anEndThatCouldNotBeRestoredIsRestoredBeforeTheNextAppend() throws {
        try withTemporaryDirectory { directory in
            let broken = Shared(0)
            let calls = FileCalls(
                write: { descriptor, bytes, offset throws(Errno) in
                    switch broken.value {
                    case 0: return try FileCalls.system.write(descriptor, bytes, offset)
                    case 1:
                        broken.value = 2
                        return try FileCalls.system.write(
                            descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(20)), offset)
                    default: throw .ioError
                    }
                },
                resize: FileCalls.system.resize)
            let file = try makeFile(in: directory, calls: calls)
            let batches = batches(.json)
            try append(batches[0], to: file)
            broken.value = 1
            #expect(throws: RecordingError.self) { try append(batches[1], to: file) }
            #expect(throws: RecordingError.self) { try append(batches[1], to: file) }
            broken.value = 0
            for batch in batches[1...] { try append(batch, to: file) }
            #expect(try text(of: file.path) == wholeText(of: batches, .json, .array))
        }
    }

    @Test func interruptionsAndShortWritesAreNotFailures() throws {
        try withTemporaryDirectory { directory in
            let file = try makeFile(in: directory, calls: Faults().stuttering())
            let batches = batches(.json)
            for batch in batches { try append(batch, to: file) }
            #expect(try text(of: file.path) == wholeText(of: batches, .json, .array))
        }
    }

    // MARK: Sync and finish

    @Test func syncingWhileAppendingDisturbsNothing() async throws {
        let path = FilePath(FileManager.default.temporaryDirectory.path).appending("recording-tests-\(UUID())")
        try Directory(path).create()
        defer { try? FileManager.default.removeItem(atPath: path.string) }
        let file = try makeFile(in: Directory(path))
        let handle = file.handle
        let isDone = Shared(0)
        let syncs = Task {
            var count = 0
            repeat {
                try handle.sync()
                count += 1
                await Task.yield()
            } while isDone.value == 0
            return count
        }
        let batch = batches(.json)[1]
        for _ in 0..<500 {
            try append(batch, to: file)
            await Task.yield()
        }
        isDone.value = 1
        #expect(try await syncs.value > 0)
        #expect(try records(of: file.path) == 1000)
        #expect(file.sampleCount == 1000)
    }

    @Test func finishedFilesHaveNameSizeAndHash() throws {
        try withTemporaryDirectory { directory in
            let file = try makeFile(in: directory, .json, .array)
            for batch in batches(.json) { try append(batch, to: file) }
            let whole = try text(of: file.path)
            let finished = try file.finish(at: try WallTime(iso8601: "2026-11-20T23:53:01.500Z"))
            #expect(finished.name == "phone_accelerometer-20261120235301.json")
            #expect(finished.bytes == whole.utf8.count)
            #expect(finished.samples == 3)
            #expect(try text(of: directory.path.appending(finished.name)) == whole)
            #expect(try FinishedFile.measure(directory.path.appending(finished.name)).sha256 == finished.sha256)
            #expect(try directory.names() == [finished.name])
        }
    }

    @Test func theHashIsSHA256() throws {
        try withTemporaryDirectory { directory in
            let finished = try makeFile(in: directory).finish(at: WallTime(nanosecondsSince1970: 0))
            // What sha256sum(1) says of "[\n\n]".
            #expect(finished.sha256 == "ace810d7e2cbb4f8c40ce09dc8e191ae466adb4e1a7d49c59f2215b411d38b05")
        }
    }

    /// SEEDS case 16.
    @Test func filesFinishedInOneSecondAreNumbered() throws {
        try withTemporaryDirectory { directory in
            let date = try WallTime(iso8601: "2026-11-20T23:53:01Z")
            let names = try (0..<3).map { _ in try makeFile(in: directory).finish(at: date).name }
            #expect(
                names == [
                    "phone_accelerometer-20261120235301.json", "phone_accelerometer-20261120235301-01.json",
                    "phone_accelerometer-20261120235301-02.json",
                ])
            #expect(try names.map { try #require(FinishedName($0, of: name)) }.sorted().map(\.description) == names)
        }
    }

    @Test func aFileThatSomebodyElseChangedIsNotCertified() throws {
        try withTemporaryDirectory { directory in
            let file = try makeFile(in: directory)
            let other = try FileDescriptor.open(file.path, .writeOnly, options: .append)
            try other.closeAfter { _ = try other.writeAll("x".utf8) }
            #expect(throws: RecordingError.self) { try file.finish(at: WallTime(nanosecondsSince1970: 0)) }
        }
    }

    // MARK: Tools

    private func append(_ batch: (text: String, samples: Int), to file: LogFile) throws(RecordingError) {
        var buffer = ByteBuffer(capacity: 0)
        buffer.append(utf8: batch.text)
        do {
            try file.append(&buffer, samples: batch.samples)
        } catch {
            #expect(buffer.text == batch.text)
            throw error
        }
        #expect(buffer.count == 0)
    }

    private func wholeText(
        of batches: [(text: String, samples: Int)], _ format: LogFormat, _ root: JSONRoot
    ) throws -> String {
        try withTemporaryDirectory { directory in
            let file = try makeFile(in: directory, format, root)
            for batch in batches { try append(batch, to: file) }
            return try text(of: file.path)
        }
    }

    /// How many records a file has, read by another's parser.
    private func records(of path: FilePath) throws -> Int {
        let text = try text(of: path)
        guard path.extension == "json" else {
            return text.split(separator: "\n", omittingEmptySubsequences: false).count - 1
        }
        let root = try JSONSerialization.jsonObject(with: Data(text.utf8))
        let items = (root as? [String: Any])?["items"] ?? root
        return try #require(items as? [[String: Any]]).count
    }
}
