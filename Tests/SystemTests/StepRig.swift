import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// A real publisher, and successive real step-counters in one directory.
struct StepRig: Sendable {
    let directory: FilePath
    let publisher: ProgramUnderTest
    let publisherReady: ProgramReady
    /// Sends requests to the publisher.
    let streams: RequestClient
    let context: Context
    let thread: SocketThread

    /// Runs a publisher that replays a walk as `phone/accelerometer` at twenty times its speed.
    /// - Parameters:
    ///   - seconds: the length of the walk, which is in `walk.csv`.
    ///   - options: further options of the publisher.
    static func run(
        replaying seconds: Int, options: [String], _ body: @Sendable (StepRig) async throws -> Void
    ) async throws {
        let replay = ["--device", "phone", "--replay", "walk.csv", "--speed", "20", "--unit", "m/s2"]
        try await run(
            publishing: replay + options, preparing: { try GaitFile.write($0.appending("walk.csv"), seconds: seconds) },
            body)
    }

    /// Runs a publisher.
    /// - Parameters:
    ///   - publishing: its options, which may name files in its directory.
    ///   - prepare: creates those files.
    static func run(
        publishing: [String], preparing prepare: (FilePath) throws -> Void,
        _ body: @Sendable (StepRig) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            try prepare(directory)
            let context = try Context()
            let thread = try SocketThread(name: "test")
            try await ProgramUnderTest.run(
                "sensor-publisher", arguments: ProgramUnderTest.anyPorts + publishing, in: directory
            ) { publisher in
                let ready = try await publisher.ready()
                try await body(
                    StepRig(
                        directory: directory, publisher: publisher, publisherReady: ready,
                        streams: RequestClient(context: context, thread: thread, endpoint: ready.reply),
                        context: context, thread: thread))
            }
        }
    }

    /// Runs a step-counter.
    /// - Parameter disk: its data directory; nil for the rig's.
    func counter<Result: Sendable>(
        on disk: SmallDisk? = nil, _ body: (Counter) async throws -> Result
    ) async throws -> Result {
        try await ProgramUnderTest.run(
            "step-counter",
            arguments: ProgramUnderTest.anyPorts
                + ["--data", (disk?.path ?? directory).string, "--subscribe", publisherReady.publish],
            in: directory, on: disk
        ) { program in
            let ready = try await program.ready()
            return try await body(
                Counter(
                    program: program, ready: ready,
                    client: RequestClient(context: context, thread: thread, endpoint: ready.reply)))
        }
    }

    /// A running step-counter.
    struct Counter {
        let program: ProgramUnderTest
        let ready: ProgramReady
        let client: RequestClient

        func ask<Params: Request>(_ request: Params) async throws -> Params.Reply {
            try await client.send(request, timeout: .seconds(60))
        }

        /// All steps of a device.
        func steps(of device: String = "phone") async throws -> Int {
            let now = WallTime.now.seconds
            return try await ask(
                StepsQuery(device: device, from: WallTime(seconds: now - 9e8), to: WallTime(seconds: now + 9e8))
            ).numberOfSteps
        }

        /// Waits until this many steps are counted.
        func counts(_ count: Int, of device: String = "phone") async throws {
            try await eventually("\(count) steps of \(device)", within: .seconds(60)) {
                try await steps(of: device) >= count
            }
        }

        func measures() async throws -> [String: Double] { try await ask(ServiceHealth()).measures ?? [:] }

        /// Kills the program, like a power cut of this program alone.
        func kill() async throws {
            try program.send(.kill)
            #expect(try await program.end() == .killed(by: 9))
        }
    }
}
