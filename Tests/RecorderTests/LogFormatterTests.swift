import Files
import FoundationEssentials
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// A format that is not built in, from the request to the reader.
@Suite(.timeLimit(.minutes(2)))
struct LogFormatterTests {
    private static func records(of path: FilePath) throws -> [LogRecord] {
        var scanner = try LogScanner(path, format: .logfmt, root: .array)
        var records: [LogRecord] = []
        while try scanner.next() != nil { records.append(scanner.record) }
        let isClean = scanner.isClean
        #expect(isClean, "\(path)")
        return records
    }

    @Test func aSessionIsRecordedInAFormatThatWasAdded() async throws {
        #expect(LogFormat.logfmt.rawValue == "logfmt" && LogFormat.words == "json, csv, tsv, logfmt")
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            try await recorder.start("s", publisher, format: "logfmt", step: "out", maximumFileSize: 2_000)
            try await recorder.prime(publisher)
            for _ in 0..<20 {
                try publisher.sample(3)
                try await recorder.hasAll(of: publisher)
            }
            _ = try await recorder.send(RecordingMoveTo(session: "s", step: "back = \"home\""))
            try publisher.sample(3)
            try await recorder.hasAll(of: publisher)
            let result = try await recorder.stop()
            #expect(result.report.isWhole)
            let log = try #require(result.logs.first)
            #expect(log.files.count >= 3 && log.files.allSatisfy { $0.hasSuffix(".logfmt") })
            #expect(log.samples == publisher.next)
            let records = try log.files.flatMap { try Self.records(of: recorder.path($0)) }
            let samples = records.filter { $0.sensorType != nil }
            #expect(samples.count == publisher.next)
            #expect(samples.last?.stepPath == "Walk/back = \"home\"")
            #expect(samples.allSatisfy { $0["x"].flatMap(Double.init) != nil })
            #expect(records.first?.marker == "start" && records.last?.marker == "stop")
            // As text, the file is what its formatter writes.
            let text = try String(contentsOfFile: recorder.path(log.files[0]).string, encoding: .utf8)
            #expect(text.hasPrefix("# uptime timestamp stepPath sensorType x "))
            #expect(
                text.split(separator: "\n").dropFirst().allSatisfy { $0.hasPrefix("uptime=") && $0.hasSuffix(" ;") })
            // `recorder verify` and exports read it.
            #expect(try recorder.directory().verify().verdict == .whole)
            let record = try recorder.directory().record()
            #expect(record.format == .logfmt)
            // An unknown format is refused, and the error lists the known ones.
            let refusal = try await #require(throws: RequestError.self) {
                try await recorder.sendBeside(RecordingStart(streams: ["phone/"], format: "xml"))
            }
            #expect(refusal.message.contains("json, csv, tsv, logfmt"), "\(refusal.message)")
        }
    }

    /// A formatter must return what it got, and nothing for a truncated line.
    @Test func aLineGivesBackItsObjectAndNoPartOfItDoes() {
        let objects = [
            #"{"uptime":1.50}"#, #"{"uptime":-0.1e5,"a b":"x=1 ; y","c\"=":null,"":true,"gravity.x":"NaN"}"#,
            #"{"uptime":1,"stepPath":"Walk ;","touch":[{"phase":"be gan","x":[1,2,"]"]},{}],"é":"\u00e4 😀"}"#,
        ]
        for text in objects {
            let object = Array(text.utf8)
            var buffer = ByteBuffer(capacity: 0)
            object.withUnsafeBytes { LogfmtFormatter().append($0, to: &buffer) }
            let line = buffer.withUnsafeBytes { Array($0) }
            #expect(!line.contains(UInt8(ascii: "\n")))
            #expect(line.withUnsafeBytes { LogfmtFormatter().object(of: $0) } == object)
            for length in 0..<line.count {
                #expect(Array(line[..<length]).withUnsafeBytes { LogfmtFormatter().object(of: $0) } == nil, "\(length)")
            }
        }
    }
}
