import Files
import Foundation
import Messages
import SystemPackage
import Testing

@testable import Recording

@Suite(.timeLimit(.minutes(5)))
struct LogFileReopeningTests {
    private let log = LogFixture()

    /// What is left of a log that was cut off at some byte.
    private struct Cut {
        /// How many of its batches are whole.
        var batches = 0
        var samples = 0
        /// The complete log with these batches, terminator included.
        var text: String
    }

    private func reopen(
        _ cut: Cut, in directory: Directory, _ format: LogFormat, _ root: JSONRoot, calls: FileCalls = .system
    ) throws(RecordingError) -> LogFile {
        let file = try LogFile(
            reopening: log.name, in: directory, format: format, root: root, length: cut.text.utf8.count,
            samples: cut.samples, hasRecords: cut.batches > 0, calls: calls)
        try file.repair()
        return file
    }

    /// The whole log, and for each length what is left of it; nil if not even its beginning is left.
    private func cuts(_ format: LogFormat, _ root: JSONRoot) throws -> (whole: [UInt8], cuts: [Cut?]) {
        let batches = log.batches(format)
        let wholes = try (0...batches.count).map { count in
            Cut(
                batches: count, samples: batches.prefix(count).reduce(0) { $0 + $1.samples },
                text: try log.wholeText(of: Array(batches.prefix(count)), format, root))
        }
        let terminator = format != .json ? 0 : root == .array ? 2 : 4
        let whole = Array(wholes[batches.count].text.utf8)
        return (
            whole,
            (0...whole.count).map { length in
                wholes.last { $0.text.utf8.count - terminator <= length }
            }
        )
    }

    private func write(_ bytes: some Sequence<UInt8>, in directory: Directory, _ format: LogFormat) throws -> FilePath {
        let path = directory.path.appending(log.name.fileName(format))
        try Data(bytes).write(to: URL(filePath: path.string))
        return path
    }

    /// After a power cut, a file may end anywhere, and be followed by zeros or bytes of later records.
    @Test(arguments: 0..<5, [0, 1, 100])
    func aLogGoesOnWhereverItWasCutOff(kind: Int, trash: Int) throws {
        let (format, root) = logKinds[kind]
        let batches = log.batches(format)
        let (whole, cuts) = try cuts(format, root)
        try withTemporaryDirectory { directory in
            for (length, cut) in cuts.enumerated() {
                guard let cut else { continue }
                let path = try write(whole.prefix(length) + [UInt8](repeating: 0, count: trash), in: directory, format)
                // Twice, because the first recorder may be killed at once.
                for _ in 0..<2 {
                    let file = try reopen(cut, in: directory, format, root)
                    #expect(file.byteCount == cut.text.utf8.count && file.sampleCount == cut.samples)
                    #expect(try text(of: path) == cut.text)
                }
                let file = try reopen(cut, in: directory, format, root)
                for batch in batches[cut.batches...] {
                    let length = file.length(adding: batch.text.utf8.count)
                    try log.append(batch, to: file)
                    #expect(file.byteCount == length)
                }
                #expect(try text(of: path) == String(decoding: whole, as: UTF8.self))
                #expect(file.sampleCount == 3)
            }
            #expect(cuts.count { $0 != nil } > 100)
        }
    }

    @Test(arguments: 0..<5, [Faults.Call.write, .resize])
    func reopeningThatFailsCanBeDoneAgain(kind: Int, call: Faults.Call) throws {
        let (format, root) = logKinds[kind]
        // A table has no terminator to write.
        if format != .json, call == .write { return }
        let (whole, cuts) = try cuts(format, root)
        let cut = try #require(cuts[whole.count - 10])
        try withTemporaryDirectory { directory in
            let path = try write(whole.dropLast(10), in: directory, format)
            #expect(throws: RecordingError.self) {
                try reopen(cut, in: directory, format, root, calls: Faults().failing(call, number: 1))
            }
            for batch in log.batches(format)[cut.batches...] {
                try log.append(batch, to: try reopen(cut, in: directory, format, root))
            }
            #expect(try text(of: path) == String(decoding: whole, as: UTF8.self))
        }
    }

    @Test func aFileThatIsTooShortIsLeftAlone() throws {
        try withTemporaryDirectory { directory in
            let path = try write("[\n{\"uptime\":1}".utf8, in: directory, .json)
            for length in [17, 100, 1 << 20] {
                let error = try #require(throws: RecordingError.self) {
                    try reopen(
                        Cut(batches: 1, text: String(repeating: " ", count: length)), in: directory, .json, .array)
                }
                #expect(error.code == .unreadable)
            }
            #expect(throws: RecordingError.self) { try reopen(Cut(text: " "), in: directory, .json, .array) }
            #expect(try text(of: path) == "[\n{\"uptime\":1}")
            try FileManager.default.removeItem(atPath: path.string)
            let error = try #require(throws: RecordingError.self) {
                try reopen(Cut(text: "[\n\n]"), in: directory, .json, .array)
            }
            #expect(error.code == .notFound)
        }
    }
}
