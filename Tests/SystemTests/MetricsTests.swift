import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// What those see who watch the programs: metrics and logs of all five, over one session.
@Suite(.timeLimit(.minutes(5)))
struct MetricsTests {
    /// Served only while they have a value.
    private static let optional = ["holdfast_recorder_retention_left_seconds"]
    private static let programs = ["sensor-publisher", "recorder", "log-manager", "step-counter", "archiver"]

    /// The five programs, each with its metrics.
    private struct Five {
        let programs: [ProgramUnderTest]
        let ready: [ProgramReady]
        let context: Context
        let thread: SocketThread

        func ask<Question: Request>(_ program: Int, _ question: Question) async throws -> Question.Reply {
            try await RequestClient(context: context, thread: thread, endpoint: ready[program].reply)
                .send(question, timeout: .seconds(60))
        }

        func metrics() async throws -> [ServedMetrics] {
            try await ServedMetrics.read(ready.map { $0.metrics ?? "" })
        }
    }

    private static func arguments(_ program: String, _ ready: [ProgramReady], _ data: FilePath) -> [String] {
        let publisher = ready.first?.publish ?? ""
        let recorder = ready.dropFirst().first?.publish ?? ""
        let own: [String] =
            switch program {
            case "sensor-publisher": ["--config", data.appending("streams.json").string]
            case "recorder": ["--subscribe", publisher]
            case "log-manager": ["--subscribe", recorder]
            case "step-counter": ["--subscribe", publisher]
            default:
                ["--subscribe", recorder, "--log-manager", ready[2].reply, "--upload-to", "file://\(data)/receiver"]
            }
        return ProgramUnderTest.anyPorts
            + ["--data", data.string, "--metrics", "0", "--log-format", "json", "--log-level", "debug"] + own
    }

    /// Runs all five, each as long as the body does.
    private static func run(_ body: (Five) async throws -> Void) async throws {
        try await withTemporaryDirectory { data in
            let streams = """
                {"streams": [{"device": "a", "stream": "accelerometer", "signal": "walk", "rate": 100},
                {"device": "b.c-d", "stream": "gyro", "signal": "sine", "rate": 50, "packed": true}]}
                """
            try streams.write(toFile: data.appending("streams.json").string, atomically: true, encoding: .utf8)
            try FileManager.default.createDirectory(
                atPath: data.appending("receiver").string, withIntermediateDirectories: true)
            try await start(programs[...], [], [], data, body)
        }
    }

    private static func start(
        _ names: ArraySlice<String>, _ programs: [ProgramUnderTest], _ ready: [ProgramReady], _ data: FilePath,
        _ body: (Five) async throws -> Void
    ) async throws {
        guard let name = names.first else {
            return try await body(
                Five(programs: programs, ready: ready, context: Context(), thread: SocketThread(name: "test")))
        }
        try await ProgramUnderTest.run(name, arguments: arguments(name, ready, data), in: data) { program in
            let itsReady = try await program.ready()
            try await start(names.dropFirst(), programs + [program], ready + [itsReady], data, body)
        }
    }

    /// Records a session of all that is published, and stops the streams, so that nothing is counted any more.
    private static func record(with five: Five) async throws -> RecordingResult {
        _ = try await five.ask(1, RecordingStart(session: "s1", streams: ["a/", "b.c-d/"]))
        try await eventually("some seconds of samples") {
            try await five.ask(1, RecordingStatus(session: "s1")).logs.reduce(0) { $0 + $1.samples } >= 300
        }
        let result = try await five.ask(1, RecordingStop(session: "s1"))
        for stream in try await five.ask(0, StreamsList()).streams {
            _ = try await five.ask(0, StreamsStop(stream: stream.name))
        }
        try await eventually("the archive is delivered and its files are marked") {
            try await five.ask(4, ArchiveList()).archives.first?.state == .marked
        }
        return result
    }

    @Test(.enabled(if: Python.isInstalled))
    func metricsSayWhatTheReportSays() async throws {
        try await Self.run { five in
            let result = try await Self.record(with: five)
            let report = result.report
            var pages: [ServedMetrics] = []
            try await eventually("everything published is counted") {
                pages = try await five.metrics()
                return pages[3].value("holdfast_steps_samples_total")
                    == pages[0].value("holdfast_publisher_samples_total", ["device": "a", "stream": "accelerometer"])
            }
            try Self.expectAsDocumented(pages)

            #expect(report.streams.count == 2)
            for stream in report.streams {
                let labels = ["device": stream.stream.device, "stream": stream.stream.stream]
                func value(_ name: String) -> Double? { pages[1].value("holdfast_recorder_\(name)_total", labels) }
                #expect(value("received_samples") == Double(stream.received))
                #expect(value("recovered_samples") == Double(stream.recovered))
                #expect(value("duplicate_samples") == Double(stream.duplicates))
                #expect(value("lost_samples") == 0 && value("paused_samples") == 0 && value("gaps") == 0)
                #expect(value("log_bytes") == Double(stream.bytes))
                #expect(pages[0].value("holdfast_publisher_samples_total", labels) ?? 0 >= Double(stream.received))
            }
            let latency = "holdfast_recorder_commit_latency_seconds"
            #expect(pages[1].value("\(latency)_count") == Double(report.commitLatency.count))
            #expect(pages[1].value("\(latency)_bucket", ["le": "+Inf"]) == Double(report.commitLatency.count))
            #expect(pages[1].value("holdfast_recorder_sessions") == 0)
            #expect(pages[1].value("holdfast_recorder_sessions_ended_total", ["status": "finished"]) == 1)

            let bytes = Double(report.streams.reduce(0) { $0 + $1.bytes })
            #expect(pages[2].value("holdfast_log_manager_bytes", ["upload": "confirmed"]) == bytes)
            #expect(pages[2].value("holdfast_log_manager_files", ["upload": "confirmed"]) == 2)
            #expect(pages[2].value("holdfast_log_manager_marked_files_total") == 2)
            let archive = try #require(try await five.ask(4, ArchiveList()).archives.first)
            #expect(pages[4].value("holdfast_archiver_archive_bytes") == archive.bytes.map(Double.init))
            for name in ["archives_made_total", "archives_uploaded_total", "receipts_total", "archives"] {
                #expect(pages[4].value("holdfast_archiver_\(name)") == 1, "\(name)")
            }
            try await Self.expectHealthToAgree(five, pages)
            try await Self.expectLogsOfObjects(five)
        }
    }

    @Test(.enabled(if: Promtool.isInstalled, "there is no promtool: make promtool gets it"))
    func prometheusOwnJudgeHasNothingToSay() async throws {
        try await Self.run { five in
            _ = try await five.ask(1, RecordingStart(session: "s1", streams: ["*"]))
            try await eventually("some samples") {
                try await five.ask(1, RecordingStatus(session: "s1")).logs.reduce(0) { $0 + $1.samples } > 100
            }
            for (program, ready) in zip(Self.programs, five.ready) {
                let port = try #require(ready.metrics.flatMap(Self.port))
                let answer = try await WebClient.answer("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n", port: port)
                let page = try #require(answer?.split(separator: "\r\n\r\n", maxSplits: 1).last)
                #expect(try await Promtool.complaints(about: String(page)) == "", "\(program)")
            }
            _ = try await five.ask(1, RecordingStop(session: "s1"))
        }
    }

    private static func port(of url: String) -> UInt16? {
        url.split(separator: ":").last.flatMap { UInt16($0.prefix(while: \.isNumber)) }
    }

    /// Every family that a program serves is in docs/metrics.md as it is, and every one that is there is served.
    private static func expectAsDocumented(_ pages: [ServedMetrics]) throws {
        let documented = try DocumentedMetrics.read()
        let common = try #require(documented["Every program"])
        for (program, page) in zip(programs, pages) {
            let served = Set(
                page.families.map { family in
                    DocumentedMetrics.Row(
                        name: family.name, type: family.type, unit: DocumentedMetrics.unit(of: family.name),
                        labels: family.labels, help: family.help)
                })
            let rows = common.union(try #require(documented[program]))
            #expect(served.subtracting(rows).map(\.name).sorted() == [], "\(program) serves, docs/metrics.md says else")
            let missing = rows.subtracting(served).map(\.name).filter { !optional.contains($0) }
            #expect(missing.sorted() == [], "docs/metrics.md says, \(program) serves else")
            #expect(page.value("holdfast_metrics_complete") == 1)
            #expect(page.value("process_resident_memory_bytes") ?? 0 > 1e6)
        }
    }

    private static func expectHealthToAgree(_ five: Five, _ pages: [ServedMetrics]) async throws {
        let pairs: [(program: Int, measure: String, value: Double?)] = [
            (0, "samplesPublished", pages[0].sum("holdfast_publisher_samples_total")),
            (0, "batchesPublished", pages[0].value("holdfast_publisher_batches_total")),
            (2, "totalBytes", pages[2].sum("holdfast_log_manager_bytes")),
            (2, "pendingUploadBytes", pages[2].value("holdfast_log_manager_bytes", ["upload": "pending"])),
            (3, "samplesTaken", pages[3].value("holdfast_steps_samples_total")),
            (3, "stepsCounted", pages[3].value("holdfast_steps_found_total")),
            (3, "devices", pages[3].value("holdfast_steps_devices")),
        ]
        for (program, measure, value) in pairs {
            // Measured each second.
            try await eventually("\(programs[program])'s \(measure) is \(value as Any)") {
                try await five.ask(program, ServiceHealth()).measures?[measure] == value
            }
        }
        for program in pages.indices {
            // A busy machine may make one of them degraded for a moment.
            try await eventually("\(programs[program])'s status") {
                let status = try await five.ask(program, ServiceHealth()).status
                return try await five.metrics()[program].value(
                    "holdfast_health_status", ["status": status.rawValue]) == 1
            }
        }
    }

    /// All that the programs wrote to standard error is a line of JSON, from their start to their end.
    private static func expectLogsOfObjects(_ five: Five) async throws {
        for (index, program) in five.programs.enumerated().reversed() {
            try program.send(.terminate)
            #expect(try await program.end() == .exited(0))
            let lines = program.standardError.split(separator: "\n")
            #expect(lines.count >= 3)
            for line in lines {
                let fields = try WireCoding.decode([String: String].self, from: line.utf8)
                #expect(fields["program"] == programs[index] && fields["level"] != nil && fields["message"] != nil)
                _ = try WallTime(iso8601: fields["timestamp"] ?? "")
            }
        }
    }
}
