import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import ZeroMQ

/// A machine that may run the recorder: its data directory, its endpoints and its `relay lead`.
struct Machine: Sendable {
    let name: String
    let data: FilePath
    let recorder: ProgramReady
    /// Sends requests to its recorder.
    let client: RequestClient
    /// The metrics port of its `relay lead`.
    let metricsPort: UInt16
    /// Sends requests to its `relay lead`.
    let lead: RequestClient
    private let leadReply: String

    init(_ name: String, in directory: FilePath, context: Context, thread: SocketThread) throws {
        self.name = name
        data = directory.appending(name)
        recorder = ProgramReady(ready: name, publish: try FreePort.endpoint(), reply: try FreePort.endpoint())
        client = try RequestClient(context: context, thread: thread, endpoint: recorder.reply)
        metricsPort = try FreePort.next()
        leadReply = try FreePort.endpoint()
        lead = try RequestClient(context: context, thread: thread, endpoint: leadReply)
    }

    /// Runs `relay lead` while a closure runs.
    /// - Parameter options: further options of its recorder.
    func lead<Result: Sendable>(
        servers: [String], patience: String, subscribe: String, options: [String] = [],
        _ body: (ProgramUnderTest) async throws -> Result
    ) async throws -> Result {
        try await ProgramUnderTest.run(
            "relay",
            arguments: [
                "lead", "--lease", "study", "--replicas", "1", "--patience", patience, "--holder", name, "--data",
                data.string,
                "--publish", recorder.publish, "--reply", recorder.reply, "--lead-reply", leadReply,
                "--lead-metrics", "\(metricsPort)",
            ] + servers.flatMap { ["--servers", $0] } + [
                "--", try ProductsDirectory.executable("recorder").string, "--subscribe", subscribe,
            ] + options, in: data.removingLastComponent(), body)
    }

    /// The metrics page of its `relay lead`.
    func metrics() async throws -> String {
        let answer = try await WebClient.answer("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n", port: metricsPort)
        guard let answer else { throw TestFailure("\(name) serves no metrics") }
        return answer
    }

    /// The process of its recorder: a child of its guard, which is a child of `relay`.
    func recorderProcess(of relay: ProgramUnderTest) -> Int32? {
        guard let process = relay.processIdentifier else { return nil }
        for guardProcess in Self.children(of: process) {
            if let recorder = Self.children(of: guardProcess).first { return recorder }
        }
        return nil
    }

    private static func children(of process: Int32) -> [Int32] {
        // The guard is a child of whichever thread started it.
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return tasks.flatMap { task in
            let text = (try? String(contentsOfFile: "/proc/\(process)/task/\(task)/children", encoding: .utf8)) ?? ""
            return text.split(separator: " ").compactMap { Int32($0) }
        }
    }

    /// Whether a process runs.
    static func exists(_ process: Int32) -> Bool { FileManager.default.fileExists(atPath: "/proc/\(process)") }
}
