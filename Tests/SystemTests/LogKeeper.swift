import FoundationEssentials
import Glibc
import MessageBus
import Messages
import SystemPackage
import TestSupport
import ZeroMQ

/// A real log-manager on a data directory with finished sessions.
struct LogKeeper: Sendable {
    let data: FilePath
    let program: ProgramUnderTest
    let ready: ProgramReady
    let context: Context
    let thread: SocketThread
    private let client: RequestClient

    /// Runs the log-manager as long as a closure runs.
    /// - Parameter wrapper: a command that starts it.
    static func run(
        in data: FilePath, _ options: [String] = [], on disk: SmallDisk? = nil, wrapper: [String] = [],
        _ body: (LogKeeper) async throws -> Void
    ) async throws {
        try await ProgramUnderTest.run(
            executable: "/usr/bin/env",
            arguments: wrapper + [ProductsDirectory.executable("log-manager").string] + arguments(data, options),
            in: data, on: disk
        ) { program in
            let ready = try await program.ready()
            let context = try Context()
            let thread = try SocketThread(name: "test")
            try await body(
                LogKeeper(
                    data: data, program: program, ready: ready, context: context, thread: thread,
                    client: RequestClient(context: context, thread: thread, endpoint: ready.reply)))
        }
    }

    /// The program's arguments; unless the options include `--subscribe`, it listens to an endpoint where nothing runs.
    static func arguments(_ data: FilePath, _ options: [String] = []) -> [String] {
        let subscribe = options.contains("--subscribe") ? [] : ["--subscribe", "tcp://127.0.0.1:9"]
        return ["--data", data.string] + subscribe + ProgramUnderTest.anyPorts + options
    }

    /// Starts the program where it must refuse to run.
    /// - Returns: its end, and its messages.
    static func refusal(
        in data: FilePath, _ options: [String] = []
    ) async throws -> (end: ProgramEnd, text: String) {
        try await ProgramUnderTest.run("log-manager", arguments: arguments(data, options), in: data) { program in
            let end = try await program.end()
            return (end, program.standardError)
        }
    }

    // MARK: Requests

    func send<Question: Request>(_ question: Question) async throws -> Question.Reply {
        try await client.send(question, timeout: .seconds(60))
    }

    /// Another client for concurrent requests.
    func another() throws -> RequestClient {
        try RequestClient(context: context, thread: thread, endpoint: ready.reply)
    }

    /// The paths of all files, oldest first.
    func paths() async throws -> [String] { try await send(LogsList()).files.map(\.path) }

    func terminate() async throws -> ProgramEnd {
        try program.send(.terminate)
        return try await program.end()
    }

    // MARK: Files

    /// Creates a finished session with files of three bytes, one per second.
    /// - Returns: their paths under the data directory, oldest first.
    @discardableResult
    static func finish(_ session: String, files: Int, in data: FilePath) throws -> [String] {
        let directory = data.appending("recordings").appending(session)
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        let record = """
            {"schema":"session.v1","session":"\(session)","task":"","step":"","streams":["phone/"],"format":"json",\
            "root":"array","status":"finished","startDate":"2026-11-01T00:00:00Z","steps":[],"pauses":[],"limits":{},\
            "restarts":[],"failures":[],"clocks":[],\
            "logs":[{"name":"phone_gyro","device":"phone","stream":"gyro","fields":["uptime","x"],"epochs":[],"files":[],\
            "gaps":[],"counts":{"written":0,"paused":0,"recovered":0,"duplicates":0},"isEndKnown":true}]}
            """
        try Data(record.utf8).write(to: URL(filePath: directory.appending("session.json").string))
        return try (0..<files).map { number in
            let name = finishedName(number)
            try Data("[]\n".utf8).write(to: URL(filePath: directory.appending(name).string))
            return "recordings/\(session)/\(name)"
        }
    }

    /// The name of the n-th finished file of a month that has one per second.
    static func finishedName(_ number: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let time = two(number / 3_600 % 24) + two(number / 60 % 60) + two(number % 60)
        return "phone_gyro-202611\(two(1 + number / 86_400))\(time).json"
    }

    /// Whether a path under the data directory exists.
    func has(_ path: String) -> Bool {
        var status = stat()
        return lstat(data.pushing(FilePath(path)).string, &status) == 0
    }
}
