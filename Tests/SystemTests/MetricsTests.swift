import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// Monitoring: the metrics and logs of all five programs, over one session.
@Suite(.timeLimit(.minutes(5)))
struct MetricsTests {
    /// Metrics that are served only while they have a value.
    private static let optional = [
        "holdfast_recorder_retention_left_seconds", "holdfast_recorder_last_sample_timestamp_seconds",
        "holdfast_recorder_nominal_rate_hertz", "holdfast_recorder_clock_offset_seconds",
    ]
    /// Records a session of all streams, then stops the streams, so that the counters no longer change.
    private static func record(with five: FivePrograms) async throws -> RecordingResult {
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
        try await FivePrograms.run { five in
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
            let buckets = try #require(report.commitLatency.buckets)
            #expect(buckets.last?.count == report.commitLatency.count)
            for bucket in buckets {
                // Metrics write whole numbers without a fraction.
                let bound = Int(exactly: bucket.bound).map { "\($0)" } ?? "\(bucket.bound)"
                #expect(pages[1].value("\(latency)_bucket", ["le": bound]) == Double(bucket.count))
            }
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

    @Test(.enabled(if: Prometheus.isInstalled, "there is no Prometheus: make prometheus gets it"))
    func prometheusOwnJudgeHasNothingToSay() async throws {
        try await FivePrograms.run { five in
            _ = try await five.ask(1, RecordingStart(session: "s1", streams: ["*"]))
            try await eventually("some samples") {
                try await five.ask(1, RecordingStatus(session: "s1")).logs.reduce(0) { $0 + $1.samples } > 100
            }
            try await expectStreams(of: five)
            for (program, ready) in zip(FivePrograms.names, five.ready) {
                let port = try #require(ready.metrics.flatMap(Self.port))
                let answer = try await WebClient.answer("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n", port: port)
                let page = try #require(answer?.split(separator: "\r\n\r\n", maxSplits: 1).last)
                #expect(try await Prometheus.complaints(["check", "metrics"], about: String(page)) == "", "\(program)")
            }
            _ = try await five.ask(1, RecordingStop(session: "s1"))
        }
    }

    /// Checks the metrics of a stream during its recording, and of its publisher.
    private func expectStreams(of five: FivePrograms) async throws {
        let labels = ["device": "a", "stream": "accelerometer"]
        try await eventually("the publisher's clock is compared") {
            try await five.metrics()[1].sum("holdfast_recorder_clock_offset_seconds").isFinite
        }
        let page = try await five.metrics()[1]
        #expect(abs(page.sum("holdfast_recorder_clock_offset_seconds")) < 1)
        #expect(page.value("holdfast_recorder_nominal_rate_hertz", labels) == 100)
        let last = try #require(page.value("holdfast_recorder_last_sample_timestamp_seconds", labels))
        #expect(last <= WallTime.now.seconds && last > WallTime.now.seconds - 60)
    }

    private static func port(of url: String) -> UInt16? {
        url.split(separator: ":").last.flatMap { UInt16($0.prefix(while: \.isNumber)) }
    }

    /// Checks that every family served is documented in docs/metrics.md with its properties, and every documented one is served.
    private static func expectAsDocumented(_ pages: [ServedMetrics]) throws {
        let documented = try DocumentedMetrics.read()
        let common = try #require(documented["Every program"])
        for (program, page) in zip(FivePrograms.names, pages) {
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

    private static func expectHealthToAgree(_ five: FivePrograms, _ pages: [ServedMetrics]) async throws {
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
            // These are measured each second.
            try await eventually("\(FivePrograms.names[program])'s \(measure) is \(value as Any)") {
                try await five.ask(program, ServiceHealth()).measures?[measure] == value
            }
        }
        for program in pages.indices {
            // On a busy machine a program may be degraded for a moment.
            try await eventually("\(FivePrograms.names[program])'s status") {
                let status = try await five.ask(program, ServiceHealth()).status
                return try await five.metrics()[program].value(
                    "holdfast_health_status", ["status": status.rawValue]) == 1
            }
        }
    }

    /// Checks that everything the programs write to standard error is lines of JSON, from start to end.
    private static func expectLogsOfObjects(_ five: FivePrograms) async throws {
        for (index, program) in five.programs.enumerated().reversed() {
            try program.send(.terminate)
            #expect(try await program.end() == .exited(0))
            let lines = program.standardError.split(separator: "\n")
            #expect(lines.count >= 3)
            for line in lines {
                let fields = try WireCoding.decode([String: String].self, from: line.utf8)
                #expect(
                    fields["program"] == FivePrograms.names[index] && fields["level"] != nil && fields["message"] != nil
                )
                _ = try WallTime(iso8601: fields["timestamp"] ?? "")
            }
        }
    }
}
