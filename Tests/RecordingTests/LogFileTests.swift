import Files
import Foundation
import Messages
import Recording
import SystemPackage
import Testing

@Suite(.timeLimit(.minutes(5)))
struct LogFileTests {
    private let log = LogFixture()

    // MARK: Bytes

    @Test func aLogWithoutRecordsIsValid() throws {
        try withTemporaryDirectory { directory in
            let file = try log.makeFile(in: directory)
            #expect(try text(of: file.path) == "[\n\n]")
            #expect(file.byteCount == 4)
        }
        try withTemporaryDirectory { directory in
            let file = try log.makeFile(in: directory, .json, .dictionary)
            #expect(
                try text(of: file.path)
                    == "{\n\"startDate\" : \"2017-10-16T22:28:09.000-07:00\",\n\"items\"     : [\n]\n}")
        }
        try withTemporaryDirectory { directory in
            let file = try log.makeFile(in: directory, .csv)
            #expect(
                try text(of: file.path)
                    == "uptime,timestamp,stepPath,sensorType,x,timestampDate,marker,epoch,from,count,reason,device,unit,rate"
            )
            #expect(file.path.lastComponent?.string == "phone_accelerometer.csv")
        }
    }

    /// SEEDS case 29.
    @Test func aRootArrayHasItsRecordsOnLines() throws {
        try withTemporaryDirectory { directory in
            let file = try log.makeFile(in: directory)
            for batch in log.batches(.json) { try log.append(batch, to: file) }
            #expect(
                try text(of: file.path) == """
                    [
                    {"uptime":0,"timestamp":0,"stepPath":"Task/step1","timestampDate":"\(LogFixture.date)","marker":"start"},
                    {"uptime":0.01,"timestamp":0.01,"stepPath":"Task/step1","sensorType":"accelerometer","x":1.2},
                    {"uptime":0.02,"timestamp":0.02,"stepPath":"Task/step1","sensorType":"accelerometer","x":1.3},
                    {"uptime":0.03,"timestamp":0.03,"stepPath":"Task/step2","timestampDate":"\(LogFixture.date)","marker":"step"},
                    {"uptime":0.03,"timestamp":0.03,"stepPath":"Task/step2","sensorType":"accelerometer","x":1.4}
                    ]
                    """)
            #expect(file.sampleCount == 3)
            #expect(try log.records(of: file.path) == 5)
        }
    }

    /// SEEDS case 28.
    @Test func aRootDictionaryHasItsStartDate() throws {
        try withTemporaryDirectory { directory in
            let file = try log.makeFile(in: directory, .json, .dictionary)
            for batch in log.batches(.json) { try log.append(batch, to: file) }
            #expect(
                try text(of: file.path) == """
                    {
                    "startDate" : "\(LogFixture.date)",
                    "items"     : [{"uptime":0,"timestamp":0,"stepPath":"Task/step1","timestampDate":"\(LogFixture.date)","marker":"start"},
                    {"uptime":0.01,"timestamp":0.01,"stepPath":"Task/step1","sensorType":"accelerometer","x":1.2},
                    {"uptime":0.02,"timestamp":0.02,"stepPath":"Task/step1","sensorType":"accelerometer","x":1.3},
                    {"uptime":0.03,"timestamp":0.03,"stepPath":"Task/step2","timestampDate":"\(LogFixture.date)","marker":"step"},
                    {"uptime":0.03,"timestamp":0.03,"stepPath":"Task/step2","sensorType":"accelerometer","x":1.4}
                    ]
                    }
                    """)
        }
    }

    /// SEEDS case 30.
    @Test func aTableHasALinePerRecordAndNoneEmpty() throws {
        try withTemporaryDirectory { directory in
            let file = try log.makeFile(in: directory, .csv)
            for batch in log.batches(.csv) { try log.append(batch, to: file) }
            let lines = try text(of: file.path).split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count == 6)
            #expect(lines[1] == "0,0,Task/step1,,,\(LogFixture.date),start,,,,,,,")
            #expect(lines[2] == "0.01,0.01,Task/step1,accelerometer,1.2,,,,,,,,,")
            #expect(lines[5] == "0.03,0.03,Task/step2,accelerometer,1.4,,,,,,,,,")
        }
    }

    @Test(arguments: 0..<5)
    func aLogIsValidAfterEveryWrite(kind: Int) throws {
        let (format, root) = logKinds[kind]
        try withTemporaryDirectory { directory in
            let file = try log.makeFile(in: directory, format, root)
            var expected = 0
            for batch in log.batches(format) + log.batches(format) {
                let length = file.length(adding: batch.text.utf8.count)
                try log.append(batch, to: file)
                #expect(file.byteCount == length)
                expected += batch.text.split(separator: "\n").filter { $0 != "," }.count
                #expect(try log.records(of: file.path) == expected)
                #expect(try text(of: file.path).utf8.count == file.byteCount)
            }
        }
    }

    @Test func anEmptyBufferWritesNothing() throws {
        try withTemporaryDirectory { directory in
            let faults = Faults()
            let file = try log.makeFile(in: directory, calls: faults.failing())
            try log.append(("", 0), to: file)
            #expect(faults.count(of: .write) == 1)
        }
    }

    @Test func anAppendIsOneWrite() throws {
        try withTemporaryDirectory { directory in
            let faults = Faults()
            let file = try log.makeFile(in: directory, calls: faults.failing())
            for batch in log.batches(.json) { try log.append(batch, to: file) }
            #expect(faults.count(of: .write) == 5)
        }
    }

    @Test func anExistingFileIsNotTouched() throws {
        try withTemporaryDirectory { directory in
            try log.append(log.batches(.json)[1], to: try log.makeFile(in: directory))
            let before = try text(of: directory.path.appending("phone_accelerometer.json"))
            #expect(throws: RecordingError.self) { try log.makeFile(in: directory) }
            #expect(try text(of: directory.path.appending("phone_accelerometer.json")) == before)
        }
    }

    // MARK: Faults

    /// After a failed append the file is what it was before, and the append can be repeated.
    @Test(arguments: 0..<5, [0, 1, 7, 40])
    func aWriteThatFailsLeavesThePrefix(kind: Int, partialBytes: Int) throws {
        let (format, root) = logKinds[kind]
        let batches = log.batches(format)
        // Write 1 is the header.
        for number in 2...batches.count + 1 {
            try withTemporaryDirectory { directory in
                let file = try log.makeFile(
                    in: directory, format, root, calls: Faults().failing(write: number, after: partialBytes))
                var written = 0
                var failures = 0
                for batch in batches {
                    let before = (try text(of: file.path), file.byteCount, file.sampleCount)
                    do throws(RecordingError) {
                        try log.append(batch, to: file)
                    } catch {
                        failures += 1
                        #expect(error.code == .inputOutput)
                        #expect(error.path == file.path)
                        #expect((try text(of: file.path), file.byteCount, file.sampleCount) == before)
                        #expect(try log.records(of: file.path) == written)
                        // Again, on a disk that works.
                        try log.append(batch, to: file)
                    }
                    written += batch.text.split(separator: "\n").filter { $0 != "," }.count
                    #expect(try log.records(of: file.path) == written)
                }
                #expect(failures == 1)
                #expect(try text(of: file.path) == log.wholeText(of: batches, format, root))
            }
        }
    }

    @Test(arguments: 0..<5)
    func aDiskThatFillsUpAtAnyByteLeavesAValidPrefix(kind: Int) throws {
        let (format, root) = logKinds[kind]
        let batches = log.batches(format)
        try withTemporaryDirectory { directory in
            let capacity = Shared(try log.wholeText(of: [], format, root).utf8.count)
            let file = try log.makeFile(in: directory, format, root, calls: Faults.disk(of: capacity))
            var written = 0
            for batch in batches {
                // The disk grows one byte at a time until the batch fits.
                var failures = 0
                while true {
                    let before = try text(of: file.path)
                    do throws(RecordingError) {
                        try log.append(batch, to: file)
                        break
                    } catch {
                        failures += 1
                        capacity.value += 1
                        #expect(error.code == .noSpace)
                        #expect(try text(of: file.path) == before)
                        #expect(try log.records(of: file.path) == written)
                    }
                }
                written += batch.text.split(separator: "\n").filter { $0 != "," }.count
                #expect(try log.records(of: file.path) == written)
                #expect(file.byteCount == capacity.value)
                #expect(failures > 20)
            }
            #expect(try text(of: file.path) == log.wholeText(of: batches, format, root))
        }
    }

    @Test(arguments: 0..<5)
    func aFileThatCannotBeBegunIsNotLeftBehind(kind: Int) throws {
        let (format, root) = logKinds[kind]
        for capacity in 0..<(try log.wholeText(of: [], format, root).utf8.count) {
            try withTemporaryDirectory { directory in
                #expect(throws: RecordingError.self) {
                    try log.makeFile(in: directory, format, root, calls: Faults.disk(of: Shared(capacity)))
                }
                let names = try directory.names()
                #expect(names.isEmpty)
            }
        }
    }

    /// The first append fails after part of its bytes, and so does every attempt to restore the file's end.
    @Test(arguments: [Faults.Call.write, .resize])
    func anEndThatCouldNotBeRestoredIsRestoredBeforeTheNextAppend(broken: Faults.Call) throws {
        try withTemporaryDirectory { directory in
            let attempt = Shared(0)
            var calls = FileCalls.system
            calls.write = { descriptor, bytes, offset throws(Errno) in
                if attempt.value == 0 { return try FileCalls.system.write(descriptor, bytes, offset) }
                attempt.value += 1
                if attempt.value == 2 {
                    return try FileCalls.system.write(
                        descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(20)), offset)
                }
                if attempt.value == 3 || broken == .write { throw .ioError }
                return try FileCalls.system.write(descriptor, bytes, offset)
            }
            calls.resize = { descriptor, length throws(Errno) in
                if attempt.value > 0, broken == .resize { throw .ioError }
                try FileCalls.system.resize(descriptor, length)
            }
            let file = try log.makeFile(in: directory, calls: calls)
            let batches = log.batches(.json)
            try log.append(batches[0], to: file)
            attempt.value = 1
            #expect(throws: RecordingError.self) { try log.append(batches[1], to: file) }
            #expect(throws: RecordingError.self) { try log.append(batches[1], to: file) }
            #expect(throws: RecordingError.self) { try file.seal(at: .now, after: nil) }
            attempt.value = 0
            for batch in batches[1...] { try log.append(batch, to: file) }
            #expect(try text(of: file.path) == log.wholeText(of: batches, .json, .array))
        }
    }

    @Test func interruptionsAndShortWritesAreNotFailures() throws {
        try withTemporaryDirectory { directory in
            let file = try log.makeFile(in: directory, calls: Faults().stuttering())
            let batches = log.batches(.json)
            for batch in batches { try log.append(batch, to: file) }
            #expect(try text(of: file.path) == log.wholeText(of: batches, .json, .array))
        }
    }
}
