import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// The ancestors' cases that need whole programs, with their numbers in SEEDS.
///
/// Serialized, because each case keeps two cores busy.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct AcceptanceTests {
    /// Ours: the failure is an event and in the report, once; data written before stays, and the recorder records again when
    /// there is room.
    @Test(.enabled(if: SmallDisk.isPossible)) func case57AFullDiskFailsTheSessionOnce() async throws {
        // Data waiting in memory when the disk is full must fit into the reserve, and a machine may stall for seconds.
        let rate = 2_000
        try await FullDisk.run(megabytes: 4, rate: rate) { disk in
            let request = RecordingStart(session: "full", streams: ["phone/"])
            _ = try await disk.recordings.send(request, timeout: .seconds(60))

            let heard = try await Self.events(of: "full", from: disk.events)
            #expect(heard.filter { $0.change == .failure }.count == 1)
            let failure = try #require(heard.first { $0.change == .failure })
            #expect(failure.status == "failed")
            #expect(failure.reason?.contains("No space left") == true, "\(failure.reason ?? "")")
            let report = try #require(heard.last?.report)
            #expect(report.status == "failed")
            #expect(report.failures.count == 1, "\(report.failures)")
            let health = try await disk.recordings.send(ServiceHealth(), timeout: .seconds(60))
            #expect(health.status == .degraded)

            let refusal = await #expect(throws: RequestError.self) {
                try await disk.recordings.send(request, timeout: .seconds(60))
            }
            #expect(refusal?.data?.reason == "finished")

            // The data written so far is whole.
            let state = try await disk.recordings.send(RecordingStatus(session: "full"), timeout: .seconds(60))
            #expect(state.status == "failed")
            let log = try #require(state.logs.first)
            let path = disk.data.appending("recordings/full")
            // If even the reserve was too small at first, the recorder retries.
            let file = path.appending("report.json").string
            try await eventually("the report on disk") { FileManager.default.fileExists(atPath: file) }
            let stored = try Data(contentsOf: URL(filePath: file))
            #expect(try WireCoding.decode(SessionReport.self, from: stored) == report)
            let samples = try LogItem.read(path.appending(log.file)).filter { $0.marker == nil }
            #expect(samples.count == log.samples)
            #expect(samples.count > 1_000)
            let steps = zip(samples, samples.dropFirst()).map { ($1.uptime - $0.uptime) * Double(rate) }
            // On a busy machine a gap may occur before the disk is full.
            #expect(steps.count { abs($0 - 1) >= 1e-2 } <= log.gaps)

            // A stream that does not fill the disk, however long this machine takes for the rest.
            try FileManager.default.removeItem(atPath: path.appending(log.file).string)
            let next = RecordingStart(session: "next", streams: ["watch/"])
            _ = try await disk.recordings.send(next, timeout: .seconds(60))
            try await eventually("samples") {
                let state = try await disk.recordings.send(RecordingStatus(session: "next"), timeout: .seconds(60))
                return state.logs.contains { $0.samples > 0 }
            }
            let result = try await disk.recordings.send(RecordingStop(session: "next"), timeout: .seconds(60))
            #expect(result.report.isWhole)
            try disk.recorder.send(.terminate)
            #expect(try await disk.recorder.end() == .exited(3))
        }
    }

    /// Ours: no log needs repair, in any format; the next recorder continues it.
    @Test(arguments: [("json", "array"), ("json", "dictionary"), ("csv", "array"), ("tsv", "array")])
    func case59AKilledRecordersLogParsesAtOnce(format: String, root: String) async throws {
        try await Cutoff.run { cutoff in
            let noise = ["--signal", "noise:seed=1", "--rate", "2000", "--batch", "20", "--device", "phone"]
            try await cutoff.publisher(noise) { _ in
                let file = cutoff.directory.appending("recordings/walk/phone_accelerometer.\(format)")
                let told = try await cutoff.recorder { recorder in
                    try await cutoff.start(
                        RecordingStart(session: "walk", streams: ["phone/"], format: format, root: root))
                    try await cutoff.more(500, in: "walk")
                    // The file may be a second behind.
                    try await eventually("samples in the file") { try Self.samples(of: file, root: root) > 0 }
                    let state = try await cutoff.recordings.send(
                        RecordingStatus(session: "walk"), timeout: .seconds(60))
                    try await cutoff.kill(recorder)
                    return try #require(state.logs.first).samples
                }
                #expect(try Self.samples(of: file, root: root) > 0)
                try await cutoff.recorder { _ in
                    try await cutoff.more(100, in: "walk")
                    let result = try await cutoff.stop("walk")
                    #expect(result.report.isWhole)
                    let log = try #require(result.logs.first)
                    #expect(log.samples >= told)
                    #expect(log.files.count == 1)
                    let finished = FilePath(result.directory).appending(try #require(log.files.first))
                    #expect(try Self.samples(of: finished, root: root) == log.samples)
                }
            }
        }
    }

    /// A session's events, up to its report.
    static func events(of session: String, from subscriber: Subscriber) async throws -> [RecordingEvent] {
        var heard: [RecordingEvent] = []
        while heard.last?.change != .report {
            let batch = try await subscriber.next()
            try batch.withUnsafeMessages { messages in
                for message in 0..<messages.count {
                    let event = try EventFrames(message, of: messages).decode(RecordingEvent.self)
                    if event.session == session { heard.append(event) }
                }
            }
        }
        return heard
    }

    /// The number of samples in a log, read by an independent parser.
    private static func samples(of file: FilePath, root: String) throws -> Int {
        if file.extension == "json" {
            let first = try Data(contentsOf: URL(filePath: file.string)).first
            #expect(first == (root == "array" ? UInt8(ascii: "[") : UInt8(ascii: "{")))
        }
        return try LogItem.read(file).filter(\.isSample).count
    }
}
