import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import ZeroMQ

/// A recorder whose data directory is a small disk of its own, and a publisher of noise: `phone/` fills the disk at once,
/// `watch/` takes minutes for a megabyte.
struct FullDisk {
    let recorder: ProgramUnderTest
    /// The data directory, as this process reaches it while the recorder runs.
    let data: FilePath
    /// The recorder's events.
    let events: Subscriber
    /// Sends requests to the recorder.
    let recordings: RequestClient

    /// Runs both programs, and ends them with the body.
    /// - Parameters:
    ///   - megabytes: the disk's size.
    ///   - rate: samples of `phone/` per second, in a hundred batches.
    ///   - options: further options of the recorder.
    static func run(
        megabytes: Int, rate: Int, options: [String] = [], _ body: (FullDisk) async throws -> Void
    ) async throws {
        let streams = """
            {"sensor-publisher": {"streams": [
              {"device": "phone", "signal": "noise:seed=1", "rate": \(rate), "batch": \(rate / 100)},
              {"device": "watch", "signal": "noise:seed=2", "rate": 20}
            ]}}
            """
        try await withTemporaryDirectory { directory in
            let file = directory.appending("streams.json").string
            try streams.write(toFile: file, atomically: true, encoding: .utf8)
            let context = try Context()
            let thread = try SocketThread(name: "test")
            let disk = try SmallDisk(megabytes: megabytes, at: directory.appending("disk"))
            try await ProgramUnderTest.run(
                "sensor-publisher", arguments: ["--config", file] + ProgramUnderTest.anyPorts, in: directory
            ) { publisher in
                let arguments = ["--data", disk.path.string, "--subscribe", try await publisher.ready().publish]
                try await ProgramUnderTest.run(
                    "recorder", arguments: arguments + ProgramUnderTest.anyPorts + options, in: directory, on: disk
                ) { recorder in
                    let ready = try await recorder.ready()
                    let events = try Subscriber(context: context, thread: thread)
                    try await events.subscribe(to: TopicArea.recording)
                    try await events.connect(to: ready.publish)
                    try await body(
                        FullDisk(
                            recorder: recorder, data: disk.path(in: recorder), events: events,
                            recordings: RequestClient(context: context, thread: thread, endpoint: ready.reply)))
                }
            }
        }
    }
}
