import FoundationEssentials
import Glibc
import MessageBus
import Messages
import StepDetection
import SystemPackage
import TestSupport
import Testing

/// step-counter as people run it: live and over a file, killed, with clients that stop, and on a full disk.
@Suite(.timeLimit(.minutes(3)))
struct StepCounterTests {
    private static let seconds = 120

    @Test(arguments: [[], ["--packed"]])
    func liveEqualsOfflineAlsoAcrossKills(options: [String]) async throws {
        let began = WallTime.now.seconds
        try await StepRig.run(replaying: Self.seconds, options: ["--start-stopped"] + options) { rig in
            let offline = try StepCount(ofFile: rig.directory.appending("walk.csv").string)
            #expect((160...240).contains(offline.steps.count))
            try await rig.counter { counter in
                _ = try await rig.streams.send(
                    StreamsStart(stream: StreamName(device: "phone", stream: "accelerometer")), timeout: .seconds(60))
                try await counter.counts(40)
                try await counter.kill()
            }
            try await rig.counter { counter in
                try await counter.counts(100)
                try await counter.kill()
            }
            // Killed again as soon as it is ready.
            try await rig.counter { try await $0.kill() }
            try await rig.counter { counter in
                try await eventually("the end of the walk", within: .seconds(60)) {
                    let streams = try await rig.streams.send(StreamsList(), timeout: .seconds(60)).streams
                    return streams.first?.state == .ended
                }
                try await counter.counts(offline.steps.count)
                let live = try await times(of: counter, from: began)
                try #require(live.count == offline.steps.count)
                let start = live[0] - offline.steps[0].time
                for (live, offline) in zip(live, offline.steps) { #expect(abs(live - start - offline.time) < 0.05) }
                try counter.program.send(.terminate)
                let end = try await counter.program.end()
                #expect(end == .exited(0))
            }
        }
    }

    /// The times of steps, rounded to 10 ms.
    private func times(of counter: StepRig.Counter, from began: Double) async throws -> [Double] {
        var times: [Double] = []
        for piece in 0..<4 {
            let from = began - 5 + Double(piece) * 100
            let reply = try await counter.ask(
                StepsQuery(
                    device: "phone", from: WallTime(seconds: from), to: WallTime(seconds: from + 100), interval: 0.01))
            for bin in reply.bins ?? [] {
                times += [Double](repeating: bin.from.seconds, count: bin.numberOfSteps)
            }
        }
        return times
    }

    @Test(.enabled(if: Python.isInstalled, "there is no python3"))
    func case53AStoppedClientIsNotSentWhatItMissed() async throws {
        try await StepRig.run(replaying: 60, options: ["--loop"]) { rig in
            try await rig.counter { counter in
                let subscription = try await counter.ask(StepsStartUpdates(device: "phone", updateOn: 10)).subscription
                let script = FilePath(#filePath).removingLastComponent().appending("Clients/step_updates.py")
                try await ProgramUnderTest.run(
                    executable: Python.interpreter(),
                    arguments: [script.string, counter.ready.publish, "phone", subscription]
                ) { client in
                    _ = try await client.line("an update") { Self.update($0) != nil }
                    try client.send(.stop)
                    let stopped = WallTime.now.seconds
                    try await counter.counts(counter.steps() + 300)
                    let resumed = try await counter.steps()
                    let continued = WallTime.now.seconds
                    try client.send(.resume)
                    _ = try await client.line("an update after all") { Self.update($0)?.total ?? 0 >= resumed }
                    let updates = client.standardOutput.split(separator: "\n").compactMap { Self.update($0) }
                    let missed = updates.filter { $0.time > stopped && $0.time < continued }
                    // Only updates published before the disconnection are missed: half a second at most on a machine that is not
                    // behind.
                    #expect(missed.allSatisfy { $0.time - stopped < 2 }, "\(missed), stopped at \(stopped)")
                    // The next update includes all steps made meanwhile.
                    let next = try #require(updates.first { $0.time >= continued })
                    let before = try #require(updates.last { $0.time <= stopped })
                    #expect(next.total >= before.total + 300)
                    #expect(updates.map(\.total) == updates.map(\.total).sorted())
                }
            }
        }
    }

    /// Parses a line of the client: a total, and the time of its publication.
    private static func update(_ line: some StringProtocol) -> (total: Int, time: Double)? {
        let words = line.split(separator: " ")
        guard words.count == 2, let total = Int(words[0]), let time = Double(words[1]) else { return nil }
        return (total, time)
    }

    /// The walks are finite, so a slow machine takes longer but has no more to do.
    @Test func manyDevicesGoOnAfterAKill() async throws {
        let devices = 100
        let streams = (0..<devices).map { #"{"device":"d\#($0)","replay":"walk.csv","unit":"m/s2","batch":25}"# }
        let json = #"{"sensor-publisher":{"streams":[\#(streams.joined(separator: ","))]}}"#
        try await StepRig.run(
            publishing: ["--config", "streams.json"],
            preparing: { directory in
                try GaitFile.write(directory.appending("walk.csv"), seconds: 12)
                let file = directory.appending("streams.json").string
                try json.write(toFile: file, atomically: true, encoding: .utf8)
            }
        ) { rig in
            let steps = try StepCount(ofFile: rig.directory.appending("walk.csv").string).steps.count
            try await rig.counter { counter in
                try await eventually("some of the steps", within: .seconds(60)) {
                    try await counter.measures()["stepsCounted"] ?? 0 > Double(devices)
                }
                try await counter.kill()
            }
            try await rig.counter { counter in
                for device in 0..<devices {
                    try await counter.counts(steps, of: "d\(device)")
                    #expect(try await counter.steps(of: "d\(device)") == steps)
                }
                #expect(try await counter.measures()["samplesLost"] == 0)
                try counter.program.send(.terminate)
                let end = try await counter.program.end()
                #expect(end == .exited(0), "\(counter.program.standardError)")
            }
        }
    }

    @Test(.enabled(if: SmallDisk.isPossible, "this machine gives its users no mount namespace"))
    func aFullDiskStopsTheHistoryAndNotTheCounting() async throws {
        try await StepRig.run(replaying: Self.seconds, options: ["--start-stopped"]) { rig in
            let offline = try StepCount(ofFile: rig.directory.appending("walk.csv").string)
            let disk = try SmallDisk(megabytes: 4, at: rig.directory.appending("disk"))
            try await rig.counter(on: disk) { counter in
                let subscription = try await counter.ask(StepsStartUpdates(device: "phone", updateOn: 1)).subscription
                let filler = try disk.path(in: counter.program).appending("filler")
                try SmallDisk.fill(filler)
                _ = try await rig.streams.send(
                    StreamsStart(stream: StreamName(device: "phone", stream: "accelerometer")), timeout: .seconds(60))
                try await eventually("health to tell") {
                    try await counter.ask(ServiceHealth()).reasons.contains { $0.contains("steps wait in memory") }
                }
                try await eventually("the walk to be counted", within: .seconds(60)) {
                    try await counter.measures()["stepsCounted"] == Double(offline.steps.count)
                }
                #expect(unlink(filler.string) == 0)
                try await counter.counts(offline.steps.count)
                #expect(try await counter.ask(StepsStopUpdates(subscription: subscription)).numberOfSteps > 0)
                try await eventually("health to be well") {
                    try await counter.ask(ServiceHealth()).reasons.allSatisfy { !$0.contains("memory") }
                }
            }
        }
    }
}
