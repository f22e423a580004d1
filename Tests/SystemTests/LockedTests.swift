import FoundationEssentials
import Glibc
import SystemPackage
import TestSupport
import Testing

/// Authentication and roles: the programs with keys, and clients from outside.
@Suite(.timeLimit(.minutes(3)))
struct LockedTests {
    private static let signal = ["--signal", "walk", "--device", "phone", "--rate", "100"]

    @Test(.enabled(if: Python.isInstalled, "there is no python3 on the PATH"))
    func clientsGetWhatTheirKeysAllow() async throws {
        try await Locked.run(["alice": "listen", "bob": "command", "carol": "delete"]) { locked in
            try await locked.start("sensor-publisher", Self.signal) { publisher in
                let options = ["--subscribe", publisher.ready.publish, "--metrics", "0"]
                try await locked.start("recorder", options) { recorder in
                    try await locked.start("log-manager", ["--subscribe", recorder.ready.publish]) { keeper in
                        let script = FilePath(#filePath).removingLastComponent().appending("Clients/locked.py")
                        try await ProgramUnderTest.run(
                            executable: Python.interpreter(),
                            arguments: [
                                script.string, locked.keys.string, publisher.ready.publish, recorder.ready.reply,
                                keeper.ready.reply,
                            ], in: locked.directory
                        ) { client in
                            let end = try await client.end(within: .seconds(120))
                            try #require(end == .exited(0), "\(client.standardError)\(client.standardOutput)")
                            let words = client.standardOutput.split(whereSeparator: \.isWhitespace)
                            #expect(words.count == 2 && words[0] == "ok")
                            // Each of the three logs which client tried, and from which address, once.
                            for running in [publisher, recorder, keeper] {
                                let log = running.program.standardError
                                let lines = log.split(separator: "\n")
                                    .filter { $0.contains("client refused") && $0.contains(words[1]) }
                                #expect(lines.count == 1, "\(log)")
                                #expect(lines.allSatisfy { $0.contains("client.address=127.0.0.1") })
                            }
                            try await Self.expectRefusals(by: recorder)
                        }
                    }
                }
            }
        }
    }

    /// Requests beyond a client's role are logged, and counted as docs/metrics.md describes.
    private static func expectRefusals(by recorder: Locked.Running) async throws {
        let log = recorder.program.standardError
        let lines = log.split(separator: "\n").filter { line in
            line.contains("request refused") && line.contains("client.name=alice")
                && line.contains("recording.start needs the role command")
        }
        #expect(lines.count == 1, "\(log)")
        let page = try #require(try await ServedMetrics.read([recorder.ready.metrics ?? ""]).first)
        for row in try #require(try DocumentedMetrics.read()["With keys"]) {
            let family = try #require(page.families.first { $0.name == row.name })
            #expect(family.help == row.help && family.type == row.type && family.labels == row.labels)
            #expect(page.sum(row.name) >= 3)
        }
    }

    @Test func aSessionIsRecordedCountedAndArchivedBehindLockedDoors() async throws {
        try await Locked.run(["alice": "listen"]) { locked in
            let receiver = locked.directory.appending("receiver")
            try FileManager.default.createDirectory(atPath: receiver.string, withIntermediateDirectories: true)
            try await locked.start("sensor-publisher", Self.signal) { publisher in
                // The programs may start in any order; only log-manager's endpoint must be known.
                let asked = locked.directory.appending("log-manager")
                try await locked.start(
                    "recorder",
                    [
                        "--subscribe", publisher.ready.publish, "--log-manager", "ipc://\(asked)",
                    ]
                ) { recorder in
                    try await locked.start(
                        "log-manager",
                        [
                            "--subscribe", recorder.ready.publish, "--reply", "ipc://\(asked)",
                        ]
                    ) { keeper in
                        try await locked.start("step-counter", ["--subscribe", publisher.ready.publish]) { counter in
                            try await locked.start(
                                "archiver",
                                [
                                    "--subscribe", recorder.ready.publish, "--log-manager", keeper.ready.reply,
                                    "--upload-to", "file://\(receiver)",
                                ]
                            ) { archiver in
                                try await Self.record(locked, publisher, recorder)
                                try await eventually("all files are marked", within: .seconds(60)) {
                                    let files = try await locked.run(
                                        "log-manager", ["list", "--reply", keeper.ready.reply])
                                    return files.output.contains("yes") && !files.output.contains("  no")
                                }
                                let archives = try await locked.run(
                                    "archiver", ["list", "--ndjson", "--reply", archiver.ready.reply])
                                #expect(archives.output.contains(#""state":"marked""#), "\(archives)")
                                #expect(FileManager.default.fileExists(atPath: receiver.appending("walk.zip").string))
                                let steps = try await locked.run(
                                    "step-counter",
                                    [
                                        "query", "--reply", counter.ready.reply, "--device", "phone", "--from",
                                        "2020-01-01T00:00:00Z", "--format", "json", "--client-key", "alice",
                                    ])
                                #expect(steps.end == .exited(0))
                                #expect(steps.output.contains("numberOfSteps"))
                                #expect(!steps.output.contains(#""numberOfSteps":0"#), "\(steps)")
                                for running in [publisher, recorder, keeper, counter, archiver] {
                                    #expect(!running.program.standardError.contains("client refused"))
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    private static func record(_ locked: Locked, _ publisher: Locked.Running, _ recorder: Locked.Running) async throws {
        let asking = ["--reply", recorder.ready.reply, "--sensor-publisher", publisher.ready.reply]
        let session = ["--session", "walk", "--streams", "phone/", "--duration", "6s"]
        let refused = try await locked.run("recorder", ["record", "--client-key", "alice"] + asking + session)
        #expect(refused.end == .exited(69))
        #expect(refused.error.contains("recording.start needs the role command here, and this key has listen"))
        let recorded = try await locked.run("recorder", ["record"] + asking + session)
        #expect(recorded.end == .exited(0), "\(recorded)")
        let health = try await locked.run("recorder", ["health", "--reply", recorder.ready.reply])
        #expect(health.end == .exited(0))
    }

    /// An alert compares counts, so it would miss the first refusals without a count before them.
    @Test(.enabled(if: Python.isInstalled, "there is no python3 on the PATH"))
    func refusedClientsAreCountedFromZero() async throws {
        try await Locked.run { locked in
            try await locked.start("recorder", ["--metrics", "0"]) { recorder in
                let page = try #require(try await ServedMetrics.read([recorder.ready.metrics ?? ""]).first)
                #expect(page.value("holdfast_refused_clients_total") == 0)
            }
        }
    }

    @Test func aProgramWithoutAKeyThatItCanTrustDoesNotStart() async throws {
        try await Locked.run { locked in
            let secret = locked.keys.appending("recorder.key_secret").string
            chmod(secret, 0o644)
            try await Self.expectRefusal(locked, ["--check"], saying: "chmod 600")
            chmod(secret, 0o600)
            chmod(locked.keys.string, 0o777)
            try await Self.expectRefusal(locked, ["--check"], saying: "chmod 700")
            chmod(locked.keys.string, 0o700)
            let good = try await locked.run("recorder", ["--check", "--data", locked.directory.string])
            #expect(good.end == .exited(0), "\(good)")
            unlink(locked.keys.appending("log-manager.key").string)
            try await Self.expectRefusal(locked, ProgramUnderTest.anyPorts, saying: "log-manager.key")
            unlink(secret)
            try await Self.expectRefusal(locked, ["--check"], saying: "recorder.key_secret")
        }
    }

    @Test func theToolAddsAndListsAndNeverOverwrites() async throws {
        try await Locked.run(["alice": "listen"]) { locked in
            let keys = locked.keys.string
            let again = try await locked.run("holdfast-keys", ["make", keys])
            #expect(again.end == .exited(0))
            #expect(again.output.split(separator: "\n").allSatisfy { $0.hasSuffix(": is there") })
            let list = try await locked.run("holdfast-keys", ["list", keys])
            #expect(list.end == .exited(0))
            #expect(list.output.split(separator: "\n").count == 8)
            #expect(list.output.contains("  listen   alice\n"))
            #expect(list.output.contains("  delete   archiver\n"))

            // Carol made her key herself. A key can have only one name, and a program's key is no client's.
            let hyphen = "-" + String(repeating: "0", count: 39)
            try await locked.keys("add", keys, "carol", "--role", "listen", "--public-key", hyphen)
            let line = try #require(list.output.split(separator: "\n").first { $0.hasSuffix("  recorder") })
            for (key, owner) in [(hyphen, "carol"), (String(line.prefix(40)), "recorder")] {
                let result = try await locked.run(
                    "holdfast-keys", ["add", keys, "bob", "--role", "listen", "--public-key", key])
                #expect(result.end == .exited(78))
                #expect(result.error.contains("\(owner) has this key already"), "\(result)")
            }
            let refused = [
                (["add", keys, "alice", "--role", "delete"], 78), (["add", keys, "recorder", "--role", "listen"], 64),
                (["add", keys, "../bob", "--role", "listen"], 64), (["add", keys, "bob", "--role", "root"], 64),
                (["add", keys, "bob", "--role", "listen", "--public-key", "short"], 64),
                (["list", "\(keys)/none"], 78),
            ]
            for (arguments, code) in refused {
                let result = try await locked.run("holdfast-keys", arguments)
                #expect(result.end == .exited(Int32(code)), "\(arguments): \(result)")
            }
            let whole = try await locked.run("holdfast-keys", ["list", keys])
            #expect(whole.end == .exited(0))
            #expect(whole.output.contains("  listen   carol\n") && !whole.output.contains("bob"))

            // The same file under another name.
            try FileManager.default.copyItem(atPath: "\(keys)/alice.key", toPath: "\(keys)/bob.key")
            let twice = try await locked.run("holdfast-keys", ["list", keys])
            #expect(twice.end == .exited(78))
            #expect(twice.error.contains("alice.key and bob.key have the same key"))
            let files = try FileManager.default.contentsOfDirectory(atPath: keys)
            #expect(!files.contains("carol.key_secret") && !files.contains("bob.key_secret"))
        }
    }

    @Test func withoutKeysOtherMachinesAreNotSpokenWith() async throws {
        try await withTemporaryDirectory { directory in
            for options in [
                ["--reply", "tcp://*:*"], ["--publish", "tcp://*:*"], ["--subscribe", "tcp://192.0.2.7:5550"],
                ["--log-manager", "tcp://192.0.2.7:5581"],
            ] {
                let arguments = ["--check", "--data", directory.string] + options
                try await ProgramUnderTest.run("recorder", arguments: arguments, in: directory) { program in
                    let end = try await program.end()
                    #expect(end == .exited(78), "\(options)")
                    #expect(program.standardError.contains("--keys"))
                    #expect(program.standardError.contains("--insecure"))
                }
                try await ProgramUnderTest.run("recorder", arguments: arguments + ["--insecure"], in: directory) {
                    let end = try await $0.end()
                    #expect(end == .exited(0), "\(options)")
                }
            }
        }
    }

    private static func expectRefusal(_ locked: Locked, _ options: [String], saying text: String) async throws {
        let result = try await locked.run("recorder", ["--data", locked.directory.string] + options)
        #expect(result.end == .exited(78), "\(result)")
        #expect(result.error.contains(text), "\(result.error)")
    }
}
