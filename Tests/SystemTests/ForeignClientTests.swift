import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing

/// Clients in Python, and standard system tools.
@Suite(.timeLimit(.minutes(5)))
struct ForeignClientTests {
    private static let folder = FilePath(#filePath).removingLastComponent()
    private static let sine = [
        "--signal", "sine:amplitude=2,angularFrequency=1,phase=0.2,offset=0.5", "--rate", "200", "--device", "phone",
    ]

    @Test(.enabled(if: Python.isInstalled, "there is no python3 on the PATH"), arguments: [false, true])
    func aSubscriberDecodesBatches(packed: Bool) async throws {
        try await Rig.run(publishing: Self.sine + ["--batch", "10"] + (packed ? ["--packed"] : [])) { rig in
            let output = try await Python.run(
                Self.folder.appending("Clients/subscribe.py"), arguments: [rig.publisherReady.publish, "phone", "200"])
            #expect(output == "ok 200 \(packed ? "packed" : "json")\n")
        }
    }

    @Test(.enabled(if: Python.isInstalled, "there is no python3 on the PATH"))
    func aRequesterRecordsAndIsNeverLeftWithoutAnAnswer() async throws {
        try await Rig.run(publishing: Self.sine) { rig in
            let output = try await Python.run(
                Self.folder.appending("Clients/record.py"), arguments: [rig.recorderReady.reply])
            #expect(output.hasPrefix("ok "))
        }
    }

    @Test(.enabled(if: Python.isInstalled, "there is no python3 on the PATH"), arguments: ["json", "csv"])
    func filesOpenAsTheyAre(format: String) async throws {
        try await Rig.run(publishing: Self.sine) { rig in
            try await rig.start(
                RecordingStart(
                    session: "files", task: "Walk, \"quoted\"", step: "out", streams: ["phone/"], format: format))
            try await eventually("50 samples") {
                try await rig.recordings.send(RecordingStatus(session: "files"), timeout: .seconds(60))
                    .logs.contains { $0.samples >= 50 }
            }
            let result = try await rig.stop("files")
            let file = try rig.onlyFile(of: result)
            if format == "json" {
                _ = try await Tool.output(
                    of: Tool.require("python3"), ["-m", "json.tool", file.string, "/dev/null"])
                if let jq = Tool.path(of: "jq") {
                    let count = try await Tool.output(of: jq, ["[.[] | select(.sensorType)] | length", file.string])
                    #expect(count == "\(result.logs[0].samples)\n")
                }
            } else {
                let output = try await Python.run(
                    Self.folder.appending("Clients/csv_rows.py"), arguments: [file.string])
                #expect(output == "\(result.logs[0].samples)\n")
            }
        }
    }

    @Test(
        .enabled(if: Python.isInstalled, "there is no python3 on the PATH"),
        arguments: ["README.md", "docs/protocol.md"])
    func theSubscriberWorksAsPrinted(on page: String) async throws {
        let snippet = try Self.snippet(on: page, containing: "socket(zmq.SUB)")
        #expect(snippet.split(separator: "\n").count <= 6)
        try await Rig.run(publishing: Self.sine) { rig in
            // The snippet runs forever on the default port; here it gets the test's port and stops after three lines.
            let script = snippet.replacing("tcp://127.0.0.1:5550", with: rig.publisherReady.publish)
                .replacing("while True:", with: "for _ in range(3):")
            #expect(script != snippet)
            let lines = try await Self.run(script, in: rig.directory).split(separator: "\n")
            #expect(lines.count == 3)
            #expect(lines.allSatisfy { $0.contains("samples/phone/accelerometer") })
        }
    }

    @Test(.enabled(if: Python.isInstalled, "there is no python3 on the PATH"))
    func theRequestWorksAsPrinted() async throws {
        let snippet = try Self.snippet(on: "docs/protocol.md", containing: "socket(zmq.REQ)")
        try await Rig.run(publishing: Self.sine) { rig in
            let script = snippet.replacing("tcp://127.0.0.1:5561", with: rig.recorderReady.reply)
            #expect(script != snippet)
            let output = try await Self.run(script, in: rig.directory)
            #expect(output.contains("\"recordings\""))
        }
    }

    private static func run(_ script: String, in directory: FilePath) async throws -> String {
        let path = directory.appending("snippet.py")
        try script.write(toFile: path.string, atomically: true, encoding: .utf8)
        return try await Python.run(path)
    }

    /// A page's first Python block that includes a text.
    private static func snippet(on page: String, containing text: String) throws -> String {
        let page = try DocumentationPage(path: DocumentationPage.root.appending(page), name: page)
        return try #require(page.blocks.first { $0.kind == "python" && $0.text.contains(text) }).text
    }
}
