import FoundationEssentials
import Glibc
import MessageBus
import Messages
import ZeroMQ

/// Starts senders, receivers and programs, and measures them.
struct Bench {
    private let programs: String
    private let directory: String
    private let context: Context
    private let thread: SocketThread
    private var this: String { "/proc/self/exe" }
    private static let sine = ["--signal", "sine:amplitude=1", "--device", "bench"]

    init(programs: String, directory: String) throws {
        self.programs = programs
        self.directory = "\(directory)/holdfast-bench-\(getpid())"
        context = try Context()
        thread = try SocketThread(name: "bench")
    }

    /// What the plain loop takes.
    func floor(_ wire: Wire, samples: Int) throws -> Measurement {
        try withDirectory { directory in
            let sender = try Child(this, sending(wire, samples))
            defer { sender.end() }
            let endpoint = try sender.line().split(separator: " ")[0]
            let floor = try Child(
                this,
                [
                    "floor", "--endpoint", String(endpoint), "--file", "\(directory)/floor", "--wire",
                    wire.kind.rawValue, "--messages", "\(samples / wire.batch)",
                ])
            guard try floor.line() == "ready" else { throw Child.Failure(description: "the floor does not start") }
            let start = MonotonicClock.now
            sender.type("go")
            guard try floor.line() == "done" else { throw Child.Failure(description: "the floor does not end") }
            let seconds = Double(MonotonicClock.now - start) / 1e9
            return Measurement(samples: samples, seconds: seconds, usage: floor.end(signal: 0))
        }
    }

    /// What the recorder takes, from the first sample to the last one that is durable and reported.
    func recorder(_ wire: Wire, samples: Int, format: String) async throws -> Measurement {
        try await withDirectory { directory in
            let sender = try Child(this, sending(wire, samples))
            defer { sender.end() }
            let endpoints = try sender.line().split(separator: " ").map(String.init)
            let (recorder, client) = try recorder(in: directory, listeningTo: endpoints[0])
            defer { recorder.end() }
            try await untilKnown(client, session: "bench", stream: "\(Wire.device)/", format: format)
            let before = try recorder.usage()
            let start = MonotonicClock.now
            sender.type("go")
            guard try sender.line() == "sent" else { throw Child.Failure(description: "the sender does not end") }
            while true {
                let state = try await client.send(RecordingStatus(session: "bench"), timeout: .seconds(20))
                if state.logs.reduce(0, { $0 + $1.samples }) >= samples || state.status != "running" { break }
                try await Task.sleep(for: .milliseconds(5))
            }
            let seconds = Double(MonotonicClock.now - start) / 1e9
            var usage = try recorder.usage()
            usage.cpuSeconds -= before.cpuSeconds
            let result = try await client.send(RecordingStop(session: "bench"), timeout: .seconds(60))
            guard result.report.isWhole, result.logs.first?.samples == samples else {
                throw Child.Failure(description: "the recorder lost samples: \(result.report)")
            }
            return Measurement(samples: samples, seconds: seconds, usage: usage)
        }
    }

    /// From publication to commit, with the real publisher.
    func latency(seconds: Int) async throws -> SessionReport.Latency {
        try await withDirectory { directory in
            let (publisher, endpoints) = try publisher(Self.sine + ["--rate", "100", "--batch", "1"])
            defer { publisher.end() }
            let (recorder, client) = try recorder(in: directory, listeningTo: endpoints.publish)
            defer { recorder.end() }
            try await untilKnown(client, session: "latency", stream: "bench/", format: "json")
            try await Task.sleep(for: .seconds(seconds))
            let result = try await client.send(RecordingStop(session: "latency"), timeout: .seconds(20))
            return result.report.commitLatency
        }
    }

    /// How long a killed recorder takes to go on with a session of an hour of ten streams at 100 Hz: from its start to
    /// its first answer, and until it has caught up with the publisher, which samples a hundred times as fast meanwhile.
    func recovery() async throws -> (answer: Double, caughtUp: Double, samples: Int, bytes: Int) {
        try await withDirectory { directory in
            let streams = (0..<10).map {
                #"{"device":"bench","stream":"s\#($0)","signal":"sine:amplitude=1","rate":10000,"batch":100}"#
            }
            let file = "\(directory)/streams.json"
            try Data(#"{"sensor-publisher":{"streams":[\#(streams.joined(separator: ","))]}}"#.utf8)
                .write(to: URL(filePath: file))
            let (publisher, endpoints) = try publisher(["--config", file])
            defer { publisher.end() }
            let (killed, client) = try recorder(in: directory, listeningTo: endpoints.publish)
            try await untilKnown(client, session: "hour", stream: "bench/", format: "json")
            var samples = 0
            while samples < 3_600_000 {
                try await Task.sleep(for: .milliseconds(100))
                let state = try await client.send(RecordingStatus(session: "hour"), timeout: .seconds(20))
                samples = state.logs.reduce(0) { $0 + $1.samples }
            }
            killed.end(signal: SIGKILL)
            let start = MonotonicClock.now
            let (recorder, again) = try recorder(in: directory, listeningTo: endpoints.publish)
            defer { recorder.end() }
            var state = try await again.send(RecordingStatus(session: "hour"), timeout: .seconds(20))
            let answer = Double(MonotonicClock.now - start) / 1e9
            let missed = 100_000 * answer
            while Double(state.logs.reduce(0) { $0 + $1.samples } - samples) < missed {
                try await Task.sleep(for: .milliseconds(1))
                state = try await again.send(RecordingStatus(session: "hour"), timeout: .seconds(20))
            }
            let caughtUp = Double(MonotonicClock.now - start) / 1e9
            let result = try await again.send(RecordingStop(session: "hour"), timeout: .seconds(60))
            guard result.report.isWhole, result.report.restarts?.count == 1 else {
                throw Child.Failure(description: "the recorder lost samples: \(result.report)")
            }
            return (answer, caughtUp, samples, result.report.streams.reduce(0) { $0 + $1.bytes })
        }
    }

    /// What each program uses while nothing happens: no session, and a stream that is stopped.
    func idle(seconds: Int) async throws -> [(String, Child.Usage)] {
        try await withDirectory { directory in
            let (publisher, endpoints) = try publisher(Self.sine + ["--start-stopped"])
            defer { publisher.end() }
            let (recorder, _) = try recorder(in: directory, listeningTo: endpoints.publish)
            defer { recorder.end() }
            let children = [("sensor-publisher", publisher), ("recorder", recorder)]
            let before = try children.map { try $0.1.usage() }
            try await Task.sleep(for: .seconds(seconds))
            return try zip(children, before).map { child, before in
                var usage = try child.1.usage()
                usage.cpuSeconds = (usage.cpuSeconds - before.cpuSeconds) * 10 / Double(seconds)
                return (child.0, usage)
            }
        }
    }

    private func sending(_ wire: Wire, _ samples: Int) -> [String] {
        ["send", "--wire", wire.kind.rawValue, "--batch", "\(wire.batch)", "--samples", "\(samples)"]
    }

    /// A line of JSON that a program prints when it listens.
    private struct Ready: Decodable {
        let publish: String
        let reply: String
    }

    private func recorder(in directory: String, listeningTo endpoint: String) throws -> (Child, RequestClient) {
        let child = try Child(
            "\(programs)/recorder",
            [
                "--data", directory, "--subscribe", endpoint, "--publish", "tcp://127.0.0.1:*", "--reply",
                "tcp://127.0.0.1:*", "--log-level", "error",
            ])
        let ready = try WireCoding.decode(Ready.self, from: child.line().utf8)
        return (child, try RequestClient(context: context, thread: thread, endpoint: ready.reply))
    }

    private func publisher(_ arguments: [String]) throws -> (Child, Ready) {
        let child = try Child(
            "\(programs)/sensor-publisher",
            [
                "--publish", "tcp://127.0.0.1:*", "--reply", "tcp://127.0.0.1:*", "--log-level", "error",
            ] + arguments)
        return (child, try WireCoding.decode(Ready.self, from: child.line().utf8))
    }

    /// Starts a session and waits until its subscription has reached the publisher.
    private func untilKnown(_ client: RequestClient, session: String, stream: String, format: String) async throws {
        let started = try await client.send(
            RecordingStart(session: session, task: "Bench", step: "run", streams: [stream], format: format),
            timeout: .seconds(10))
        guard !started.logs.isEmpty else { throw Child.Failure(description: "the recorder does not know the stream") }
        try await Task.sleep(for: .milliseconds(300))
    }

    private func withDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
        try make()
        defer { remove() }
        return try body(directory)
    }

    private func withDirectory<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        try make()
        defer { remove() }
        return try await body(directory)
    }

    private func make() throws {
        guard mkdir(directory, 0o755) == 0 else { throw Child.Failure(description: "\(directory) can't be made") }
    }

    private func remove() {
        // What is left behind in a directory for temporary files is no reason to stop.
        try? FileManager.default.removeItem(atPath: directory)
    }
}
