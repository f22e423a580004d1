import FoundationEssentials
import Glibc
import MessageBus
import Messages
import SystemPackage
import TestSupport
import ZeroMQ

/// A recorder whose data directory is a small disk of its own, and a publisher of noise that fills it. The disk is a
/// tmpfs(5) in a mount namespace that nobody else sees.
struct FullDisk {
    let recorder: ProgramUnderTest
    /// The data directory, as this process reaches it while the recorder runs (proc_pid_root(5)).
    let data: FilePath
    /// What the recorder says of its sessions.
    let events: Subscriber
    /// Asks the recorder.
    let recordings: RequestClient

    /// Whether this machine lets its users have a mount namespace.
    static let isPossible = system("unshare --user --map-root-user --mount true 2>/dev/null") == 0

    /// Runs both programs, and ends them with the body.
    /// - Parameters:
    ///   - megabytes: the disk's size.
    ///   - rate: samples of `phone/` per second, a hundred batches of them.
    ///   - options: more for the recorder's command line.
    static func run(
        megabytes: Int, rate: Int, options: [String] = [], _ body: (FullDisk) async throws -> Void
    ) async throws {
        let noise =
            ProgramUnderTest.anyPorts
            + ["--device", "phone", "--signal", "noise:seed=1", "--rate", "\(rate)", "--batch", "\(rate / 100)"]
        try await withTemporaryDirectory { directory in
            let context = try Context()
            let thread = try SocketThread(name: "test")
            let data = directory.appending("disk")
            try FileManager.default.createDirectory(atPath: data.string, withIntermediateDirectories: true)
            try await ProgramUnderTest.run("sensor-publisher", arguments: noise, in: directory) { publisher in
                let script = #"mount -t tmpfs -o size="$1"m none "$2" && shift && exec "$0" --data "$@""#
                let arguments = [
                    "unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c", script,
                    try ProductsDirectory.executable("recorder").string, "\(megabytes)", data.string, "--subscribe",
                    try await publisher.ready().publish,
                ]
                try await ProgramUnderTest.run(
                    executable: "/usr/bin/env", arguments: arguments + ProgramUnderTest.anyPorts + options,
                    in: directory
                ) { recorder in
                    let ready = try await recorder.ready()
                    guard let process = recorder.processIdentifier else { throw TestFailure("the recorder has ended") }
                    let root = FilePath("/proc/\(process)/root")
                    let events = try Subscriber(context: context, thread: thread)
                    try await events.subscribe(to: TopicArea.recording)
                    try await events.connect(to: ready.publish)
                    try await body(
                        FullDisk(
                            recorder: recorder, data: root.appending(data.removingRoot().components), events: events,
                            recordings: RequestClient(context: context, thread: thread, endpoint: ready.reply)))
                }
            }
        }
    }
}
