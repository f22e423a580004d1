import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// A publisher, and step-counters one after the other in one directory: the real programs.
struct StepRig: Sendable {
    let directory: FilePath
    let publisher: ProgramUnderTest
    let publisherReady: ProgramReady
    /// Asks the publisher.
    let streams: RequestClient
    let context: Context
    let thread: SocketThread

    /// Runs a publisher that replays a walk as `phone/accelerometer`, twenty times as fast.
    /// - Parameters:
    ///   - seconds: how long the walk is; it is in `walk.csv`.
    ///   - options: more for the publisher.
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
    ///   - prepare: makes them.
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
    /// - Parameter disk: its data directory; the rig's if nothing is said.
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

    /// A step-counter that runs.
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

        /// Waits until so many steps are counted.
        func counts(_ count: Int, of device: String = "phone") async throws {
            try await eventually("\(count) steps of \(device)", within: .seconds(60)) {
                try await steps(of: device) >= count
            }
        }

        /// What it measures of itself.
        func measures() async throws -> [String: Double] { try await ask(ServiceHealth()).measures ?? [:] }

        /// Ends it at once, as a power cut of this program alone.
        func kill() async throws {
            try program.send(.kill)
            #expect(try await program.end() == .killed(by: 9))
        }
    }
}
