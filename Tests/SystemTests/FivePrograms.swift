import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import ZeroMQ

/// The five programs as one system, each with its metrics.
struct FivePrograms {
    /// In the order in which data passes through them.
    static let names = ["sensor-publisher", "recorder", "log-manager", "step-counter", "archiver"]

    let programs: [ProgramUnderTest]
    let ready: [ProgramReady]
    let data: FilePath
    private let context: Context
    private let thread: SocketThread

    /// Sends a request to the program at an index of `names`.
    func ask<Question: Request>(_ program: Int, _ question: Question) async throws -> Question.Reply {
        try await RequestClient(context: context, thread: thread, endpoint: ready[program].reply)
            .send(question, timeout: .seconds(60))
    }

    func metrics() async throws -> [ServedMetrics] { try await ServedMetrics.read(ready.map { $0.metrics ?? "" }) }

    /// Runs all five programs as long as the body.
    /// - Parameter options: further arguments of a program, by its name.
    static func run(options: [String: [String]] = [:], _ body: (FivePrograms) async throws -> Void) async throws {
        try await withTemporaryDirectory { data in
            let streams = """
                {"streams": [{"device": "a", "stream": "accelerometer", "signal": "walk", "rate": 100},
                {"device": "b.c-d", "stream": "gyro", "signal": "sine", "rate": 50, "packed": true}]}
                """
            try streams.write(toFile: data.appending("streams.json").string, atomically: true, encoding: .utf8)
            try FileManager.default.createDirectory(
                atPath: data.appending("receiver").string, withIntermediateDirectories: true)
            try await start(names[...], [], [], data, options, body)
        }
    }

    /// The arguments of a program; the programs before it are ready.
    static func arguments(_ program: String, _ ready: [ProgramReady], _ data: FilePath) -> [String] {
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

    private static func start(
        _ names: ArraySlice<String>, _ programs: [ProgramUnderTest], _ ready: [ProgramReady], _ data: FilePath,
        _ options: [String: [String]], _ body: (FivePrograms) async throws -> Void
    ) async throws {
        guard let name = names.first else {
            return try await body(
                FivePrograms(
                    programs: programs, ready: ready, data: data, context: Context(),
                    thread: SocketThread(name: "test")))
        }
        let arguments = arguments(name, ready, data) + (options[name] ?? [])
        try await ProgramUnderTest.run(name, arguments: arguments, in: data) { program in
            let itsReady = try await program.ready()
            try await start(names.dropFirst(), programs + [program], ready + [itsReady], data, options, body)
        }
    }
}
