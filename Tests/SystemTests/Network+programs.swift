import FoundationEssentials
import MessageBus
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// Programs on the hosts of a network.
extension Network {
    /// Samples per second of each publisher.
    static let rate = 500

    /// Runs a program on a host as long as a body runs.
    /// - Parameter wrapper: a command that starts the program.
    func run(
        _ program: String, on host: Int, arguments: [String], wrapper: [String] = [],
        _ body: (ProgramUnderTest) async throws -> Void
    ) async throws {
        let (executable, before) = on(host)
        try await ProgramUnderTest.run(
            executable: executable,
            arguments: before + wrapper + [ProductsDirectory.executable(program).string] + arguments + ["--insecure"]
        ) { program in
            _ = try await program.ready()
            try await body(program)
        }
    }

    /// Runs a publisher of a signal.
    func publisher(
        _ device: String, on host: Int, wrapper: [String] = [], _ body: (ProgramUnderTest) async throws -> Void
    ) async throws {
        try await run(
            "sensor-publisher", on: host,
            arguments: [
                "--signal", "sine:amplitude=1,angularFrequency=2", "--rate", "\(Self.rate)", "--device", device,
                "--publish", "tcp://*:5550", "--reply", "tcp://*:5551",
            ], wrapper: wrapper, body)
    }

    /// Runs a recorder, whose clients use the file system, and checks its end.
    /// - Parameter name: the name of its sockets in the data directory.
    func recorder(
        _ name: String = "recorder", listeningTo endpoint: String, on host: Int, data: FilePath,
        options: [String] = [], ends: ProgramEnd = .exited(0),
        _ body: (ProgramUnderTest, RequestClient) async throws -> Void
    ) async throws {
        let arguments = ["--data", data.string, "--subscribe", endpoint] + Self.sockets(name, in: data) + options
        try await run("recorder", on: host, arguments: arguments) { recorder in
            try await body(recorder, Self.client(of: name, in: data))
            try recorder.send(.terminate)
            let end = try await recorder.end()
            #expect(end == ends)
        }
    }
}
