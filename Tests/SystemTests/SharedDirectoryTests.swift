import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// Two recorders and a log-manager on one data directory, under load: finished files are removed while new ones are written.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct SharedDirectoryTests {
    /// Of two shards, `left-wrist` is in the first and `phone` in the second.
    private static let streams = ["left-wrist", "phone"].flatMap { device in
        ["accelerometer", "gyro"].map { stream in
            #"{"device":"\#(device)","stream":"\#(stream)","rate":500,"batch":5,"signal":"noise:seed=1"}"#
        }
    }

    private static let limit = 200_000

    /// How late the publisher has been so far.
    private struct Lateness {
        let median: Double
        let late: Double
    }

    private struct Part {
        let session: String
        let device: String
        let recorder: ProgramReady
        let client: RequestClient
    }

    private static func withPublisher(
        in directory: FilePath, publishingAt publish: String, _ body: (ProgramReady) async throws -> Void
    ) async throws {
        let sockets = ["--publish", publish, "--reply", "tcp://127.0.0.1:*"]
        try await ProgramUnderTest.run(
            "sensor-publisher", arguments: ["--config", directory.appending("streams.json").string] + sockets,
            in: directory
        ) { publisher in
            try await body(try await publisher.ready())
            try publisher.send(.terminate)
            #expect(try await publisher.end() == .exited(0))
        }
    }

    private static func withRecorder(
        _ shard: String, session: String, device: String, in data: FilePath, listeningTo publisher: String,
        _ body: (Part) async throws -> Void
    ) async throws {
        try await ProgramUnderTest.run(
            "recorder",
            arguments: ["--data", data.string, "--subscribe", publisher, "--shard", shard] + ProgramUnderTest.anyPorts,
            in: data
        ) { recorder in
            let ready = try await recorder.ready()
            let client = try RequestClient(
                context: Context(), thread: SocketThread(name: session), endpoint: ready.reply)
            let request = RecordingStart(
                session: session, streams: ["\(device)/"], format: "csv", maximumFileSize: 4_000)
            _ = try await client.send(request, timeout: .seconds(60))
            try await body(Part(session: session, device: device, recorder: ready, client: client))
            try recorder.send(.terminate)
            let end = try await recorder.end()
            #expect(end == .exited(0) || end == .exited(3))
        }
    }

    private static func lateness(of publisher: ProgramReady) async throws -> Lateness {
        let client = try RequestClient(
            context: Context(), thread: SocketThread(name: "lateness"), endpoint: publisher.reply)
        return try await eventualValue("the publisher's lateness") {
            let measures = try await client.send(ServiceHealth(), timeout: .seconds(60)).measures
            guard let median = measures?["latenessMedianSeconds"], let late = measures?["lateness99PercentSeconds"]
            else { return nil }
            return Lateness(median: median, late: late)
        }
    }

    /// Waits until a session has this many samples.
    private static func samples(_ count: Int, in part: Part) async throws {
        try await eventually("\(count) samples in session \(part.session)") {
            let state = try await part.client.send(RecordingStatus(session: part.session), timeout: .seconds(60))
            return state.logs.reduce(0) { $0 + $1.samples } >= count
        }
    }

    @Test func twoRecordersAndACleanUpShareADirectory() async throws {
        try await withTemporaryDirectory { data in
            try #"{"sensor-publisher":{"streams":[\#(Self.streams.joined(separator: ","))]}}"#
                .write(toFile: data.appending("streams.json").string, atomically: true, encoding: .utf8)
            let publish = try FreePort.endpoint()
            try await Self.withRecorder(
                "1/2", session: "wrist", device: "left-wrist", in: data, listeningTo: publish
            ) { wrist in
                try await Self.withRecorder(
                    "2/2", session: "pocket", device: "phone", in: data, listeningTo: publish
                ) { pocket in
                    var before: Lateness?
                    try await Self.withPublisher(in: data, publishingAt: publish) { publisher in
                        for part in [wrist, pocket] { try await Self.samples(3_000, in: part) }
                        before = try await Self.lateness(of: publisher)
                    }
                    try await Self.withPublisher(in: data, publishingAt: publish) { publisher in
                        try await cleanUp(while: [wrist, pocket], in: data)
                        let during = try await Self.lateness(of: publisher)
                        let undisturbed = try #require(before)
                        // Generous, because the load by other tests varies. Sampling counts as disturbed if a clean-up of a few
                        // hundred files shows in the median.
                        #expect(
                            during.median < 3 * undisturbed.median + 0.05 && during.late < 3 * undisturbed.late + 0.5,
                            "late by \(during.median) s, 99 % \(during.late), before \(undisturbed.median), \(undisturbed.late)"
                        )
                        for part in [wrist, pocket] { try await stop(part, in: data) }
                    }
                }
            }
        }
    }

    private func cleanUp(while parts: [Part], in data: FilePath) async throws {
        let options = ["--when-full", "oldest", "--total-threshold", "\(Self.limit)", "--rescan-interval", "1s"]
        let recorders = parts.flatMap { ["--subscribe", $0.recorder.publish] }
        try await LogKeeper.run(
            in: data, options + ["--pending-threshold", "\(Self.limit / 10)"] + recorders
        ) { keeper in
            try await LogEvents.listening(to: keeper) { events in
                // First the files from before, then new ones.
                try await eventually("the first clean-up", within: .seconds(60)) {
                    try await keeper.send(LogsUsage()).totalBytes <= Self.limit
                }
                let first = events.removedCount
                // On a busy machine, one recorder may still wait for samples of the former publisher while the other writes.
                try await eventually("200 more files, and at least two of each stream", within: .seconds(60)) {
                    let removed = events.all.filter { $0.change == .removed }
                    let streams = Dictionary(grouping: removed, by: \.name)
                    return removed.count >= first + 200 && streams.values.count { $0.count >= 2 } == Self.streams.count
                }
                #expect(try await keeper.send(LogsUsage()).currentBytes > 0)
                try await eventually("less than the threshold") {
                    try await keeper.send(LogsUsage()).totalBytes <= Self.limit
                }
                let heard = events.all
                expectOnceEach(heard)
                let removed = heard.filter { $0.change == .removed }
                #expect(removed.allSatisfy { $0.reason == "whenFull" })
                #expect(Set(removed.compactMap(\.path)).count == removed.count)
            }
            #expect(try await keeper.terminate() == .exited(0))
        }
    }

    /// A crossed threshold is reported again only after a removal. A file no longer counts once it is in the ledger, but its
    /// event comes after its removal, so only the final count is decisive.
    private func expectOnceEach(_ events: [LogFileEvent]) {
        let crossings = events.filter { $0.change == .threshold && $0.threshold == "totalBytes" }
        #expect(crossings.allSatisfy { $0.limit == Self.limit && $0.bytes ?? 0 > Self.limit })
        #expect(crossings.count >= 3 && crossings.count <= events.count { $0.change == .removed } + 1)
        // Clean-ups leave more than this limit, even when a file of recovered samples of 60 kB is removed: the threshold is
        // crossed once, before or after the subscription, and stays crossed.
        #expect(events.count { $0.threshold == "pendingUploadBytes" } <= 1)
    }

    private func stop(_ part: Part, in data: FilePath) async throws {
        let result = try await part.client.send(RecordingStop(session: part.session), timeout: .seconds(60))
        // If a publisher returns late, as on a busy machine, the end of its former run may be unknown.
        #expect(result.report.streams.allSatisfy { $0.lost == 0 && $0.gaps.allSatisfy { $0.count == 0 } })
        let directory = data.appending("recordings").appending(part.session).string
        let (end, text) = try await ProgramUnderTest.run("recorder", arguments: ["verify", directory]) { program in
            let end = try await program.end()
            return (end, program.standardOutput)
        }
        #expect(
            end == .exited(result.report.isWhole ? 0 : 3) && text.contains(" files removed by policy, with "), "\(text)"
        )
    }
}
