import FoundationEssentials
import Glibc
import MessageBus
import Messages
import ZeroMQ

/// Starts senders, receivers and programs, and measures them.
struct Bench {
    let programs: String
    let name: String
    private let directory: String
    let context: Context
    let thread: SocketThread
    private var this: String { "/proc/self/exe" }
    private static let sine = ["--signal", "sine:amplitude=1", "--device", "bench"]

    init(programs: String, directory: String, name: String = "now") throws {
        self.programs = programs
        self.name = name
        self.directory = "\(directory)/holdfast-bench-\(getpid())"
        context = try Context()
        thread = try SocketThread(name: "bench")
    }

    /// The cost of the plain loop.
    func floor(_ wire: Wire, samples: Int, _ format: String, _ options: FloorOptions) throws -> Measurement {
        try withDirectory { directory in
            let sender = try Child(this, sending(wire, samples))
            defer { sender.end() }
            let endpoint = try sender.line().split(separator: " ")[0]
            let floor = try Child(
                this,
                [
                    "floor", "--endpoint", String(endpoint), "--file", "\(directory)/floor", "--wire",
                    wire.kind.rawValue, "--format", format, "--record", options.floor.rawValue, "--sync-interval",
                    "\(options.floorSync)", "--samples", "\(samples)",
                ] + (options.floorHash ? ["--hashes"] : []))
            guard try floor.line() == "ready" else { throw Child.Failure(description: "the floor does not start") }
            let busy = try Machine.busySeconds()
            let start = MonotonicClock.now
            sender.type("go")
            guard try floor.line() == "done" else { throw Child.Failure(description: "the floor does not end") }
            let seconds = Double(MonotonicClock.now - start) / 1e9
            let all = try Machine.busySeconds() - busy - sender.usage().cpuSeconds
            let usage = floor.end(signal: 0)
            return Measurement(
                samples: samples, seconds: seconds, usage: usage, otherCores: (all - usage.cpuSeconds) / seconds)
        }
    }

    /// The recorder's cost, from the first sample until the session is over: all samples are durable, and their file is finished.
    func recorder(_ wire: Wire, samples: Int, format: String) async throws -> Measurement {
        try await withDirectory { directory in
            let sender = try Child(this, sending(wire, samples))
            defer { sender.end() }
            let endpoints = try sender.line().split(separator: " ").map(String.init)
            let (recorder, client) = try recorder(in: directory, listeningTo: endpoints[0])
            defer { recorder.end() }
            try await untilKnown(client, session: "bench", stream: "\(Wire.device)/", format: format)
            let before = try recorder.usage()
            let busy = try Machine.busySeconds()
            let start = MonotonicClock.now
            sender.type("go")
            guard try sender.line() == "sent" else { throw Child.Failure(description: "the sender does not end") }
            while true {
                let state = try await client.send(RecordingStatus(session: "bench"), timeout: .seconds(20))
                if state.logs.reduce(0, { $0 + $1.samples }) >= samples || state.status != "running" { break }
                try await Task.sleep(for: .milliseconds(5))
            }
            let result = try await client.send(RecordingStop(session: "bench"), timeout: .seconds(60))
            let seconds = Double(MonotonicClock.now - start) / 1e9
            let all = try Machine.busySeconds() - busy - sender.usage().cpuSeconds
            var usage = try recorder.usage()
            usage.cpuSeconds -= before.cpuSeconds
            guard result.report.isWhole, result.logs.first?.samples == samples else {
                throw Child.Failure(description: "the recorder lost samples: \(result.report)")
            }
            return Measurement(
                samples: samples, seconds: seconds, usage: usage, otherCores: (all - usage.cpuSeconds) / seconds)
        }
    }

    /// The latency from publication to commit, with the real publisher.
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

    /// How long a killed recorder takes to resume a session with an hour of ten streams at 100 Hz: from its restart to its first
    /// answer, and until it has caught up with the publisher, which meanwhile samples a hundred times as fast.
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

    /// Each program's idle cost: no session, and a stopped stream.
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

    /// The size of the removed files: an empty JSON array.
    private static let fileSize = 3

    /// log-manager's response times while it removes many files.
    struct Removal {
        /// The time from the program's start to its ready line, in seconds: by then it has checked every file.
        var start: Double
        /// The time from the request to its answer, in seconds.
        var removal: Double
        var megabytes: Double
        /// The response times of concurrent requests, in seconds.
        var answers: [(method: String, seconds: [Double])]
    }

    /// Removes finished files of a few bytes, while other clients send requests continuously. A fifth of the files stays.
    func removal(files: Int) async throws -> Removal {
        try await withDirectory { directory in
            let sessions = 5
            // The last session's files stay, except those that are marked meanwhile and therefore removed first.
            for session in 0..<sessions {
                try finish(session, files: files / (sessions - 1), in: directory)
            }
            let left = files / (sessions - 1)
            let start = MonotonicClock.now
            let (child, client) = try logManager(in: directory)
            defer { child.end() }
            let ready = Double(MonotonicClock.now - start) / 1e9
            let clock = MonotonicClock.now
            var removal = Removal(start: ready, removal: 0, megabytes: 0, answers: [])
            removal.answers = try await withThrowingTaskGroup(of: (String, [Double])?.self) { tasks in
                addAsker(of: client.endpoint, to: &tasks) { _ in LogsUsage() }
                addAsker(of: client.endpoint, to: &tasks) { _ in ServiceHealth() }
                addAsker(of: client.endpoint, to: &tasks) { _ in LogsNeedingUpload(limit: 100) }
                addAsker(of: client.endpoint, to: &tasks) { number in
                    let name = Self.finishedName(left - 1 - number % left)
                    return LogsMarkUploaded(paths: ["recordings/bench-\(sessions - 1)/\(name)"])
                }
                tasks.addTask {
                    // A request times out after half a minute; it may be repeated for the remaining files.
                    while true {
                        do {
                            _ = try await client.send(
                                LogsRemoveOldAndUploaded(bytes: left * Self.fileSize), timeout: .seconds(60))
                            return nil
                        } catch let error as RequestError where error.data?.reason == "timedOut" {}
                    }
                }
                var answers: [(String, [Double])] = []
                while let answer = try await tasks.next() {
                    if let answer {
                        answers.append(answer)
                    } else {
                        removal.removal = Double(MonotonicClock.now - clock) / 1e9
                        tasks.cancelAll()
                    }
                }
                return answers.sorted { $0.0 < $1.0 }
            }
            removal.megabytes = try child.usage().peakMegabytes
            return removal
        }
    }

    /// Repeats a request on a socket of its own until it is cancelled.
    private func addAsker<Question: Request>(
        of endpoint: String, to tasks: inout ThrowingTaskGroup<(String, [Double])?, any Error>,
        _ request: @escaping @Sendable (Int) -> Question
    ) {
        tasks.addTask {
            let client = try client(of: "log-manager", at: endpoint)
            var answers: [Double] = []
            while !Task.isCancelled {
                let start = MonotonicClock.now
                do {
                    _ = try await client.send(request(answers.count), timeout: .seconds(30))
                } catch is CancellationError {
                    break
                }
                answers.append(Double(MonotonicClock.now - start) / 1e9)
            }
            return (Question.method, answers)
        }
    }

    /// Makes a finished session with finished files.
    private func finish(_ session: Int, files: Int, in directory: String) throws {
        let path = "\(directory)/recordings/bench-\(session)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let record = """
            {"schema":"session.v1","session":"bench-\(session)","task":"","step":"","streams":["bench/"],"format":"json",\
            "root":"array","status":"finished","startDate":"2026-11-01T00:00:00Z","steps":[],"pauses":[],"limits":{},\
            "restarts":[],"failures":[],"clocks":[],"logs":[{"name":"bench_signal","device":"bench","stream":"signal",\
            "fields":["uptime","x"],"epochs":[],"files":[],"gaps":[],"isEndKnown":true,\
            "counts":{"written":0,"paused":0,"recovered":0,"duplicates":0}}]}
            """
        try Data(record.utf8).write(to: URL(filePath: "\(path)/session.json"))
        for file in 0..<files {
            let descriptor = open("\(path)/\(Self.finishedName(file))", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
            guard descriptor >= 0, write(descriptor, "[]\n", Self.fileSize) == Self.fileSize else {
                throw Child.Failure(description: "a file can't be made in \(path)")
            }
            close(descriptor)
        }
    }

    private static func finishedName(_ number: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let time = two(number / 3_600 % 24) + two(number / 60 % 60) + two(number % 60)
        return "bench_signal-202611\(two(1 + number / 86_400))\(time).json"
    }

    private func logManager(in directory: String) throws -> (Child, RequestClient) {
        let child = try Child(
            "\(programs)/log-manager",
            [
                "--data", directory, "--subscribe", "tcp://127.0.0.1:9", "--publish", "tcp://127.0.0.1:*", "--reply",
                "tcp://127.0.0.1:*", "--log-level", "error",
            ])
        let ready = try WireCoding.decode(Ready.self, from: child.line().utf8)
        return (child, try client(of: "log-manager", at: ready.reply))
    }

    func sending(_ wire: Wire, _ samples: Int) -> [String] {
        ["send", "--wire", wire.kind.rawValue, "--batch", "\(wire.batch)", "--samples", "\(samples)"]
    }

    func client(of program: String, at endpoint: String) throws -> RequestClient {
        try RequestClient(
            context: context, thread: thread, endpoint: endpoint, options: Keys.options(to: program))
    }

    /// The line of JSON that a program prints when it listens.
    struct Ready: Decodable {
        let publish: String
        let reply: String
    }

    func recorder(
        in directory: String, listeningTo endpoint: String, environment: [String: String] = [:], log: String? = nil,
        options: [String] = []
    ) throws -> (Child, RequestClient) {
        let child = try Child(
            "\(programs)/recorder",
            [
                "--data", directory, "--subscribe", endpoint, "--publish", "tcp://127.0.0.1:*", "--reply",
                "tcp://127.0.0.1:*", "--log-level", "error",
            ] + options, environment: environment, log: log)
        let ready = try WireCoding.decode(Ready.self, from: child.line().utf8)
        return (child, try client(of: "recorder", at: ready.reply))
    }

    func publisher(_ arguments: [String]) throws -> (Child, Ready) {
        let child = try Child(
            "\(programs)/sensor-publisher",
            [
                "--publish", "tcp://127.0.0.1:*", "--reply", "tcp://127.0.0.1:*", "--log-level", "error",
            ] + arguments)
        return (child, try WireCoding.decode(Ready.self, from: child.line().utf8))
    }

    /// Starts a session and waits until its subscription has reached the publisher.
    func untilKnown(_ client: RequestClient, session: String, stream: String, format: String) async throws {
        let started = try await client.send(
            RecordingStart(session: session, task: Wire.task, step: Wire.step, streams: [stream], format: format),
            timeout: .seconds(10))
        guard !started.logs.isEmpty else { throw Child.Failure(description: "the recorder does not know the stream") }
        try await Task.sleep(for: .milliseconds(300))
    }

    func withDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
        try make()
        defer { putAway() }
        return try body(directory)
    }

    func withDirectory<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        try make()
        defer { putAway() }
        return try await body(directory)
    }

    private func make() throws {
        guard mkdir(directory, 0o755) == 0 else { throw Child.Failure(description: "\(directory) can't be made") }
    }

    /// Truncates the files and sets them aside until the end: for minutes after a removal, ext4 skips the place of each removed
    /// file, which would slow down the first files of the next session.
    private func putAway() {
        for path in (try? FileManager.default.subpathsOfDirectory(atPath: directory)) ?? [] {
            truncate("\(directory)/\(path)", 0)
        }
        guard let free = remains.first(where: { access($0, F_OK) != 0 }) else { return }
        rename(directory, free)
    }

    /// Removes the files that were set aside.
    func removeRemains() {
        for path in remains.prefix(while: { access($0, F_OK) == 0 }) {
            // Leftovers in a directory for temporary files are not a reason to stop.
            try? FileManager.default.removeItem(atPath: path)
        }
    }

    private var remains: some Sequence<String> { (1...).lazy.map { "\(directory)-\($0)" } }
}
