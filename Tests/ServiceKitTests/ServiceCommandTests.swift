import ArgumentParser
import Glibc
import Logging
import MessageBus
import Messages
import Metrics
import ServiceKit
import ServiceLifecycle
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

private struct TestSettings: SettingGroup {
    @Setting("How often.") var interval = TimeSpan.seconds(1)
    @Setting("Which.") var subscribe: [Endpoint] = []
    @Setting("What the part does.") var behave = "well"
}

/// A program with one part, whose behaviour the setting `behave` selects.
private struct TestCommand: ServiceCommand {
    static let program = Program.recorder
    static let configuration = commandConfiguration(abstract: "Tests.")

    @OptionGroup var options: ProgramOptions
    @OptionGroup var settings: SettingFlags<TestSettings>

    static func check(_ settings: TestSettings, _ configuration: ServiceConfiguration) throws {
        if settings.behave == "badly" {
            throw ServiceError(.inputOutput, "the journal of session 7 can't be read")
        }
    }

    static func start(_ settings: TestSettings, on host: ServiceHost) throws -> RunningService {
        let behaviour = settings.behave
        return RunningService(
            router: RequestRouter(), outcome: { behaviour == "lossy" ? .doneWithLoss : .done }
        ) { endpoints in
            switch behaviour {
            case "refuse": throw ServiceError(.peerUnavailable, "the log-manager does not answer")
            case "pair": [TestPart(behaviour: "forever"), TestPart(behaviour: "return")]
            default: [TestPart(behaviour: behaviour)]
            }
        }
    }
}

private struct TestPart: Service {
    let behaviour: String

    func run() async throws {
        switch behaviour {
        case "return": return
        case "fail": throw ServiceError(.inputOutput, "the disk is full")
        case "hang":  // Ignores the first signal; a second one comes while it does.
            kill(getpid(), SIGTERM)
            try await withGracefulShutdownHandler {
                try await Task.sleep(for: .seconds(1000))
            } onGracefulShutdown: {
                kill(getpid(), SIGINT)
            }
        case "linger":  // Ignores the signal.
            kill(getpid(), SIGTERM)
            try await Task.sleep(for: .seconds(1000))
        case "block":  // Not even cancellation ends it.
            kill(getpid(), SIGTERM)
            while true { sleep(1000) }
        case "forever": try await gracefulShutdown()
        default:
            kill(getpid(), SIGTERM)
            try await gracefulShutdown()
        }
    }
}

@Suite(.timeLimit(.minutes(1)))
struct ServiceCommandTests {
    // MARK: the command line

    @Test(arguments: [
        ["--no-such-option"], ["stray"], ["--interval"], ["--interval", "5 parsecs"], ["--publish", "5550"],
        ["--log-level", "loud"],
        ["health", "--no-such-option"],
    ])
    func aCommandLineThatMakesNoSenseIsAUsageError(arguments: [String]) throws {
        let error = #expect(throws: (any Error).self) { try TestCommand.parseAsRoot(arguments) }
        #expect(TestCommand.exitCode(for: try #require(error)).rawValue == ServiceKit.ExitStatus.usage.rawValue)
    }

    /// Each of them is an option of the program, which its subcommands would ignore.
    @Test(arguments: [
        ["health", "--check"], ["--check", "health"], ["health", "--interval", "2s"], ["--behave", "health", "health"],
    ])
    func aSubcommandRefusesOptionsOfTheProgramAlone(arguments: [String]) async throws {
        let error = await #expect(throws: (any Error).self) { try await TestCommand.command(arguments) }
        let refusal = try #require(error)
        #expect(TestCommand.exitCode(for: refusal).rawValue == ServiceKit.ExitStatus.usage.rawValue)
        #expect(TestCommand.message(for: refusal).contains("recorder health: Unknown option '--"))
    }

    @Test func aSubcommandTakesItsOwnOptionsAnywhere() async throws {
        let arguments = ["--data", "health", "health", "--reply", "tcp://127.0.0.1:5561", "--timeout", "5s"]
        let command = try #require(try await TestCommand.command(arguments) as? HealthCommand<TestCommand>)
        #expect(command.timeout == .seconds(5))
        let reader = try ConfigurationReader(for: .recorder, flags: command.options.flags, environment: [:])
        #expect(try ServiceConfiguration(for: .recorder, reading: reader).dataDirectory == "health")
        #expect(try await TestCommand.command(["--check"]) is TestCommand)
    }

    @Test func aFlagsMistakeIsExplainedInItsOwnWords() throws {
        let error = #expect(throws: (any Error).self) { try TestCommand.parse(["--interval", "5 parsecs"]) }
        #expect(
            TestCommand.message(for: try #require(error)).contains(
                "'5 parsecs' is not a duration: write 200ms, 10s, 5m, 2h or 7d"))
        let ofList = #expect(throws: (any Error).self) {
            try TestCommand.parse(["--subscribe", "ipc:///a", "--subscribe", "b"])
        }
        #expect(TestCommand.message(for: try #require(ofList)).contains("'b' is not an endpoint"))
    }

    @Test func allFlagsArriveInTheConfiguration() throws {
        let arguments = [
            "--data", "/srv", "--publish", "ipc:///a", "--reply", "tcp://*:7", "--insecure", "--log-level", "debug",
            "--metrics", "*:9550", "--log-format", "json",
            "--interval", "1.5s",
            "--subscribe", "ipc:///b", "--subscribe", "ipc:///c",
        ]
        let command = try TestCommand.parse(arguments)
        let reader = try ConfigurationReader(
            for: .recorder, flags: command.flags, environment: ["HOLDFAST_DATA": "/other"])
        let configuration = try ServiceConfiguration(for: .recorder, reading: reader)
        #expect(configuration.dataDirectory == "/srv")
        #expect(configuration.publish.description == "ipc:///a")
        #expect(configuration.reply.description == "tcp://*:7")
        #expect(configuration.logLevel == .debug)
        #expect(configuration.metrics?.description == "*:9550")
        #expect(configuration.logStyle == .json)
        #expect(try reader.value("interval", as: TimeSpan.self) == .milliseconds(1500))
        #expect(try reader.values("subscribe", as: Endpoint.self).map(\.description) == ["ipc:///b", "ipc:///c"])
    }

    @Test func whatWasNotGivenLeavesTheChoiceToOthers() throws {
        let command = try TestCommand.parse([])
        let environment = ["HOLDFAST_INSECURE": "true", "HOLDFAST_SUBSCRIBE": "ipc:///d"]
        let reader = try ConfigurationReader(for: .recorder, flags: command.flags, environment: environment)
        #expect(try reader.value("insecure", as: Bool.self) == true)
        #expect(try reader.values("subscribe", as: Endpoint.self).map(\.description) == ["ipc:///d"])
    }

    @Test func versionAndHelpAreThere() throws {
        #expect(TestCommand.configuration.version == Version.described)
        #expect(Version.described.hasPrefix(Version.current))
        for arguments in [["--help"], ["--version"], ["health", "--help"]] {
            let error = #expect(throws: (any Error).self) {
                var command = try TestCommand.parseAsRoot(arguments)
                try command.run()
            }
            #expect(TestCommand.exitCode(for: try #require(error)) == .success)
        }
        for option in [
            "--config", "--data", "--publish", "--reply", "--insecure", "--maximum-connections", "--log-level",
            "--log-format", "--metrics",
            "--check",
            "--interval",
            "health",
        ] {
            #expect(TestCommand.helpMessage().contains(option))
        }
    }

    // MARK: the whole life of a program, each in a process of its own because signals and logging are the process's

    private static func live(
        _ behaviour: String, drainLimit: Duration = .seconds(7), checkOnly: Bool = false,
        options: [String: String] = [:]
    ) async -> Never {
        var flags = FlagValues()
        flags.set("behave", behaviour)
        flags.set("publish", "tcp://127.0.0.1:*")
        flags.set("reply", "tcp://127.0.0.1:*")
        for (key, value) in options { flags.set(key, value) }
        let status = await ServiceRunner<TestCommand>.run(
            flags: flags, checkOnly: checkOnly, environment: [:], drainLimit: drainLimit)
        exit(status.rawValue)
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func aSignalEndsAProgramWithCodeZeroAfterItsReadyLine() async throws {
        let result = try await #require(
            processExitsWith: .exitCode(0), observing: [\.standardOutputContent, \.standardErrorContent]
        ) { await Self.live("well") }
        let line = Self.text(result.standardOutputContent).split(separator: "\n").first { $0.contains("\"ready\"") }
        let ready = try WireCoding.decode(ProgramReady.self, from: try #require(line).utf8)
        #expect(ready.ready == "recorder")
        #expect(try Endpoint(typed: ready.publish).reachableLocally != nil)
        #expect(try Endpoint(typed: ready.reply).reachableLocally != nil)
        let log = Self.text(result.standardErrorContent)
        #expect(log.contains("started") && log.contains("bus.reply=\(ready.reply)") && log.contains("stopped"))
    }

    @Test func aLossIsTheExitCode() async {
        await #expect(processExitsWith: .exitCode(3)) { await Self.live("lossy") }
    }

    @Test func aPartThatEndsEndsTheProgram() async {
        await #expect(processExitsWith: .exitCode(0)) { await Self.live("return") }
        await #expect(processExitsWith: .exitCode(0)) { await Self.live("pair") }
    }

    @Test func aPartThatFailsEndsTheProgramWithItsSentence() async throws {
        let result = try await #require(processExitsWith: .exitCode(74), observing: [\.standardErrorContent]) {
            await Self.live("fail")
        }
        #expect(Self.text(result.standardErrorContent).contains("recorder: the disk is full\n"))
    }

    @Test func aProgramThatCannotStartSaysWhy() async throws {
        let result = try await #require(processExitsWith: .exitCode(69), observing: [\.standardErrorContent]) {
            await Self.live("refuse")
        }
        #expect(Self.text(result.standardErrorContent).contains("recorder: the log-manager does not answer\n"))
    }

    @Test func aSecondSignalCutsTheStopShort() async throws {
        let result = try await #require(processExitsWith: .exitCode(74), observing: [\.standardErrorContent]) {
            await Self.live("hang")
        }
        #expect(Self.text(result.standardErrorContent).contains("recorder: a second signal cut the stop short"))
    }

    @Test func stoppingIsBounded() async throws {
        let result = try await #require(processExitsWith: .exitCode(74), observing: [\.standardErrorContent]) {
            await Self.live("linger", drainLimit: .milliseconds(50))
        }
        #expect(Self.text(result.standardErrorContent).contains("recorder: stopping took longer than 0.05 seconds"))
    }

    @Test func aProgramThatHangsEndsAllTheSame() async throws {
        let result = try await #require(processExitsWith: .exitCode(74), observing: [\.standardErrorContent]) {
            await Self.live("block", drainLimit: .milliseconds(50))
        }
        #expect(Self.text(result.standardErrorContent).contains("the program hangs while stopping"))
    }

    @Test func checkingSaysGoodOrWhatIsBad() async throws {
        let good = try await #require(processExitsWith: .exitCode(0), observing: [\.standardOutputContent]) {
            await Self.live("well", checkOnly: true)
        }
        #expect(Self.text(good.standardOutputContent).contains("recorder: configuration and files are good\n"))
        let bad = try await #require(processExitsWith: .exitCode(74), observing: [\.standardErrorContent]) {
            await Self.live("badly", checkOnly: true)
        }
        #expect(Self.text(bad.standardErrorContent).contains("recorder: the journal of session 7 can't be read\n"))
    }

    @Test func anEndpointInUseIsNamed() async throws {
        let result = try await #require(processExitsWith: .exitCode(74), observing: [\.standardErrorContent]) {
            let host = try Self.host()
            var flags = FlagValues()
            flags.set("publish", host.publishEndpoint)
            flags.set("reply", "tcp://127.0.0.1:*")
            let status = await ServiceRunner<TestCommand>.run(flags: flags, checkOnly: false, environment: [:])
            exit(status.rawValue)
        }
        #expect(Self.text(result.standardErrorContent).contains("Address already in use"))
    }

    // MARK: what supervisors read

    private static func objects(_ bytes: [UInt8]) throws -> [[String: String]] {
        try bytes.split(separator: UInt8(ascii: "\n")).map { line in
            try WireCoding.decode([String: String].self, from: line)
        }
    }

    @Test func everyLineOfALogIsAnObjectWhereThatIsAsked() async throws {
        let result = try await #require(processExitsWith: .exitCode(0), observing: [\.standardErrorContent]) {
            await Self.live("well", options: ["log-format": "json", "metrics": "0"])
        }
        let lines = try Self.objects(result.standardErrorContent)
        #expect(lines.map { $0["message"] } == ["started", "signal", "stopped"])
        #expect(lines.allSatisfy { $0["program"] == "recorder" && $0["level"] == "notice" })
        #expect(lines.first?["metrics"]?.hasPrefix("http://127.0.0.1:") == true)
        for line in lines { _ = try WallTime(iso8601: line["timestamp"] ?? "") }
    }

    @Test(arguments: ["fail", "refuse", "linger", "block"])
    func howAProgramFailsIsAnObjectToo(behaviour: String) async throws {
        let result = try await #require(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) { [behaviour] in
            await Self.live(behaviour, drainLimit: .milliseconds(50), options: ["log-format": "json"])
        }
        let last = try #require(try Self.objects(result.standardErrorContent).last)
        #expect(last["level"] == "critical" && last["program"] == "recorder")
        _ = try WallTime(iso8601: last["timestamp"] ?? "")
    }

    @Test(arguments: [
        ["interval": "5 parsecs"], ["config": "/no/such/file.json"], ["metrics": "*:9550"], ["log-level": "loud"],
    ])
    func whatIsWrongBeforeThereIsALogIsSaidInItsFormat(options: [String: String]) async throws {
        let result = try await #require(
            processExitsWith: .exitCode(78), observing: [\.standardErrorContent]
        ) { [options] in
            await Self.live("well", options: options.merging(["log-format": "json"]) { $1 })
        }
        let lines = try Self.objects(result.standardErrorContent)
        #expect(lines.count == 1 && lines.first?["level"] == "critical")
    }

    @Test func aMetricsPortInUseIsNamed() async throws {
        let result = try await #require(processExitsWith: .exitCode(74), observing: [\.standardErrorContent]) {
            let host = try Self.host()
            let port = try Endpoint(typed: host.publishEndpoint).port ?? 0
            await Self.live("well", options: ["metrics": "\(port)"])
        }
        let text = Self.text(result.standardErrorContent)
        #expect(text.contains("metrics can't be served at 127.0.0.1:") && text.contains("--metrics"))
    }

    // MARK: health

    private static func host() throws -> ServiceHost {
        var flags = FlagValues()
        flags.set("publish", "tcp://127.0.0.1:*")
        flags.set("reply", "tcp://127.0.0.1:*")
        let reader = try ConfigurationReader(for: .recorder, flags: flags, environment: [:])
        return try ServiceHost(
            configuration: ServiceConfiguration(for: .recorder, reading: reader), logger: Logger(label: "test"),
            health: Health { .seconds(12) })
    }

    /// Answers `service.health` while the body runs.
    private static func answering(_ body: (_ endpoint: String, Health) async throws -> Void) async throws {
        let host = try host()
        var router = RequestRouter()
        router.onServiceRequests(of: .recorder, health: host.health) { ServiceEndpoints(publish: "", reply: "") }
        let server = try await ReplyServer(
            listeningOn: "tcp://127.0.0.1:*", router: router, context: host.context, thread: host.thread)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await server.run() }
            try await body(server.endpoint, host.health)
            tasks.cancelAll()
        }
    }

    private static func health(_ endpoint: String, timeout: String = "10s") throws -> HealthCommand<TestCommand> {
        try #require(
            TestCommand.parseAsRoot(["health", "--reply", endpoint, "--timeout", timeout])
                as? HealthCommand<TestCommand>)
    }

    @Test func healthIsTheExitCodeOfTheRunningProgram() async throws {
        try await Self.answering { endpoint, health in
            let command = try Self.health(endpoint)
            try await command.run()
            health.report(.degraded, "the publisher is away", for: "publisher")
            health.measure(Metric(health: "latenessMedianSeconds"), 0.0005)
            health.measure(Metric(health: "streams"), 1_000)
            try await command.run()
            #expect(
                try await command.answer() == """
                    recorder: degraded, version 0.6.0, up 12 s
                    - the publisher is away
                      latenessMedianSeconds: 0.0005
                      streams: 1000

                    """)
            health.report(.failing, "the disk is full", for: "disk")
            let exit = await #expect(throws: ExitCode.self) { try await command.run() }
            #expect(exit?.rawValue == 1)
        }
    }

    @Test func whoDoesNotAnswerIsToldFromWhoIsNotWell() async throws {
        let command = try Self.health("ipc:///no/such/socket", timeout: "50ms")
        let error = await #expect(throws: ServiceError.self) { try await command.answer() }
        #expect(
            error?.message
                == "no recorder answers at ipc:///no/such/socket within 50ms: start one, or pass --reply ENDPOINT")
        let exit = await #expect(throws: ExitCode.self) { try await command.run() }
        #expect(exit?.rawValue == 69)
    }

    @Test func anUnknownPortIsNotAsked() async throws {
        let command = try Self.health("tcp://127.0.0.1:*")
        let error = await #expect(throws: ServiceError.self) { try await command.answer() }
        #expect(error?.status == .badConfiguration)
    }
}
