import FoundationEssentials
import Glibc
import MessageBus
import Messages
import ZeroMQ

/// Many streams on one recorder, and the cost of publishing them.
extension Bench {
    /// The time between a session's start and the measurement of CPU and calls.
    private static let settling = Duration.seconds(3)

    /// Records a session of many streams, stops it and verifies it.
    func streams(_ plan: StreamsPlan) async throws -> StreamsRow {
        try await withDirectory { directory in
            var row = StreamsRow(plan, programs: name)
            let (load, publisher) = try load(plan, in: directory)
            defer { load.end() }
            let counts = "\(directory)/calls"
            let environment = try CallCounts.environment(countingIn: counts)
            let (recorder, client) = try recorder(
                in: directory, listeningTo: publisher.publish, environment: environment ?? [:],
                // Standard error goes to a file, because an overloaded recorder logs each gap; the report has the relevant
                // results.
                log: "\(directory)/recorder.log", options: ["--metrics", "0"])
            defer { recorder.end() }
            let replies = try self.client(of: "sensor-publisher", at: publisher.reply)
            _ = try await untilComplete(replies, streams: plan.streams)

            guard let metrics = try await client.send(ServiceDescribe(), timeout: .seconds(60)).endpoints["metrics"]
            else { throw Child.Failure(description: "the recorder serves no metrics") }
            let started = try await client.send(
                RecordingStart(session: "bench", task: Wire.task, step: Wire.step, streams: ["*"], format: "json"),
                timeout: .seconds(60))
            let first = try await positions(replies)
            if started.logs.count < plan.streams { try await untilRecorded(client, streams: plan.streams) }
            try await Task.sleep(for: Self.settling)

            let before = try await positions(replies)
            let start = MonotonicClock.now
            let usage = (try recorder.usage(), try load.usage(), try Machine.busySeconds())
            let calls = try environment.map { _ in try CallCounts(at: counts) }
            let commits = try await CommitCounts(at: metrics)
            try await Task.sleep(for: .seconds(plan.seconds))
            let seconds = Double(MonotonicClock.now - start) / 1e9
            row.recorderCores = (try recorder.usage().cpuSeconds - usage.0.cpuSeconds) / seconds
            row.loadCores = (try load.usage().cpuSeconds - usage.1.cpuSeconds) / seconds
            row.otherCores =
                (try Machine.busySeconds() - usage.2) / seconds - row.recorderCores - row.loadCores
            if let calls {
                let now = try CallCounts(at: counts)
                row.syncsPerSecond = Double(now.syncs - calls.syncs) / seconds
                row.writesPerSecond = Double(now.writes - calls.writes) / seconds
                row.megabytesWrittenPerSecond = Double(now.bytes - calls.bytes) / seconds / 1e6
                if now.syncs > calls.syncs {
                    row.meanSyncSeconds = Double(now.syncTime - calls.syncTime) / Double(now.syncs - calls.syncs) / 1e9
                }
            }
            let measured = try await CommitCounts(at: metrics)
            row.durableMedian = measured.quantile(0.5, since: commits)
            row.durable99Percent = measured.quantile(0.99, since: commits)
            row.loadAverage = try Machine.loadAverage()
            row.seconds = seconds
            let last = try await positions(replies)
            row.offeredPerSecond =
                Double(last.values.reduce(0, +) - before.values.reduce(0, +)) * 1e9 / Double(MonotonicClock.now - start)

            let stop = MonotonicClock.now
            let report = try await client.send(RecordingStop(session: "bench"), timeout: .seconds(120)).report
            row.stopSeconds = Double(MonotonicClock.now - stop) / 1e9
            row.take(report, publishedFrom: first, to: last)
            row.recorderMegabytes = try recorder.usage().peakMegabytes
            row.loadMegabytes = try load.usage().peakMegabytes
            if plan.load == .generator {
                load.type("stop")
                row.generatorLatenessSeconds = try load.line().split(separator: " ").last.flatMap { Double($0) }
                    .map { $0 / 1e9 }
            }
            row.verdict = try verify("\(directory)/recordings/bench")
            return row
        }
    }

    /// The cost of `sensor-publisher` while one subscriber reads its streams.
    func publisherCost(_ plan: StreamsPlan) async throws -> PublisherRow {
        try await withDirectory { directory in
            let (load, endpoints) = try load(plan, in: directory)
            defer { load.end() }
            let reader = try Child("/proc/self/exe", ["read", "--endpoint", endpoints.publish])
            defer { reader.end() }
            func count() throws -> Double {
                reader.type("count")
                return Double(try reader.line()) ?? 0
            }
            while try count() == 0 { try await Task.sleep(for: .milliseconds(20)) }
            try await Task.sleep(for: Self.settling)
            let before = (try load.usage(), try reader.usage(), try Machine.busySeconds(), try count())
            let start = MonotonicClock.now
            try await Task.sleep(for: .seconds(plan.seconds))
            let seconds = Double(MonotonicClock.now - start) / 1e9
            let usage = try load.usage()
            let publisherCores = (usage.cpuSeconds - before.0.cpuSeconds) / seconds
            let readerCores = (try reader.usage().cpuSeconds - before.1.cpuSeconds) / seconds
            let busy = (try Machine.busySeconds() - before.2) / seconds
            return PublisherRow(
                programs: name, streams: plan.streams, wire: plan.wire, batch: plan.batch, rate: plan.rate,
                publisherCores: publisherCores, readerCores: readerCores,
                otherCores: busy - publisherCores - readerCores, publisherMegabytes: usage.peakMegabytes,
                messagesPerSecond: (try count() - before.3) / seconds,
                messagesDuePerSecond: Double(plan.streams * plan.rate) / Double(plan.batch))
        }
    }

    private func load(_ plan: StreamsPlan, in directory: String) throws -> (Child, Ready) {
        switch plan.load {
        case .publisher:
            let streams = (0..<plan.streams).map { device in
                #"{"device":"d\#(device)","stream":"motion","signal":"sine:amplitude=1","rate":\#(plan.rate),"#
                    + #""batch":\#(plan.batch),"packed":\#(plan.wire == .packed)}"#
            }
            let file = "\(directory)/streams.json"
            try Data(#"{"sensor-publisher":{"streams":[\#(streams.joined(separator: ","))]}}"#.utf8)
                .write(to: URL(filePath: file))
            return try publisher(["--config", file])
        case .generator:
            guard getenv("HOLDFAST_KEYS") == nil else {
                throw Child.Failure(description: "the generator does not encrypt: unset HOLDFAST_KEYS")
            }
            let child = try Child(
                "/proc/self/exe",
                [
                    "load", "--streams", "\(plan.streams)", "--rate", "\(plan.rate)", "--batch", "\(plan.batch)",
                    "--wire", plan.wire.rawValue,
                ])
            let endpoints = try child.line().split(separator: " ").map(String.init)
            guard endpoints.count == 2 else { throw Child.Failure(description: "the generator does not start") }
            return (child, Ready(publish: endpoints[0], reply: endpoints[1]))
        }
    }

    private func positions(_ client: RequestClient) async throws -> [StreamName: Int] {
        let streams = try await client.send(StreamsList(), timeout: .seconds(60)).streams
        return Dictionary(streams.map { ($0.name, $0.nextSequence) }) { first, _ in first }
    }

    private func untilComplete(_ client: RequestClient, streams: Int) async throws {
        let deadline = MonotonicClock.now + 60_000_000_000
        while try await positions(client).values.count(where: { $0 > 0 }) < streams {
            guard MonotonicClock.now < deadline else { throw Child.Failure(description: "not all streams run") }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    private func untilRecorded(_ client: RequestClient, streams: Int) async throws {
        let deadline = MonotonicClock.now + 60_000_000_000
        while true {
            let state = try await client.send(RecordingStatus(session: "bench"), timeout: .seconds(60))
            if state.logs.count >= streams { return }
            guard state.status == "running", MonotonicClock.now < deadline else {
                let count = state.logs.count
                throw Child.Failure(description: "\(count) of \(streams) streams are recorded: \(state.status)")
            }
            try await Task.sleep(for: .milliseconds(500))
        }
    }

    /// The verdict of `recorder verify`.
    private func verify(_ directory: String) throws -> String {
        let verifier = try Child("\(programs)/recorder", ["verify", directory])
        let text = verifier.rest()
        switch verifier.status() {
        case 0: return "whole"
        case 3: return "loss"
        case let status:
            Standard.print("recorder verify ends with \(status): \(text.suffix(1_000))")
            return "damaged"
        }
    }
}

extension StreamsRow {
    /// Takes the results from a session's report, and compares them with the samples published between its start and its end.
    fileprivate mutating func take(
        _ report: SessionReport, publishedFrom first: [StreamName: Int], to last: [StreamName: Int]
    ) {
        commitLatency = report.commitLatency
        failures = report.failures
        var stored = 0
        var missing = last.merging(first) { last, first in last - first }
        for stream in report.streams {
            let written = stream.expected - stream.lost - stream.paused
            stored += written
            lost += stream.lost
            recovered += stream.recovered
            var covered = 0
            for span in stream.epochs ?? [] {
                let from = max(span.from, first[stream.stream] ?? 0)
                covered += max(0, min(span.next, last[stream.stream] ?? 0) - from)
            }
            missing[stream.stream, default: 0] -= covered
        }
        unaccounted = missing.values.reduce(0) { $0 + max(0, $1) }
        let seconds = report.endDate.seconds - report.startDate.seconds
        storedPerSecond = seconds > 0 ? Double(stored) / seconds : 0
    }
}
