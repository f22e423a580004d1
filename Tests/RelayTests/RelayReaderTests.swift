import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// Independent programs read what a relay stored, as described in docs/relay.md.
@Suite(.timeLimit(.minutes(4)), .enabled(if: NATSServers.areInstalled, NATSServers.areMissing))
struct RelayReaderTests {
    /// The Python program of that page, verbatim.
    private static func program() throws -> String {
        let page = FilePath(#filePath).removingLastComponent().appending("../../docs/relay.md")
        let text = try String(contentsOfFile: page.string, encoding: .utf8)
        let blocks = text.components(separatedBy: "```python\n").dropFirst()
        let block = try #require(blocks.first?.components(separatedBy: "```").first)
        return block
    }

    @Test func natsPyDecodesBatches() async throws {
        try await withTemporaryDirectory { directory in
            let servers = try NATSServers(.current, count: 1, in: directory)
            let (publish, reply) = (try FreePort.endpoint(), try FreePort.endpoint())
            let publisher = RevivedProgram(
                executable: try ProductsDirectory.executable("sensor-publisher"),
                arguments: [
                    "--publish", publish, "--reply", reply, "--signal", "walk", "--device", "left-wrist", "--packed",
                ], in: directory)
            let relay = RevivedProgram(
                executable: try ProductsDirectory.executable("relay"),
                arguments: ProgramUnderTest.anyPorts + servers.options("to") + [
                    "--subscribe", publish, "--data", "site", "--site", "lab", "--replicas", "1",
                ], in: directory)
            try await RevivedProgram.run(servers.servers + [publisher, relay]) {
                let script = try Self.program().replacing("nats://127.0.0.1:4222", with: servers.addresses[0])
                    .replacing("async for message in sub.messages:", with: "async for message in first(sub.messages):")
                let first = """
                    async def first(messages):
                        async for message in messages:
                            yield message
                            return

                    """
                let file = directory.appending("read.py").string
                try (first + script).write(toFile: file, atomically: true, encoding: .utf8)
                let output = try await eventualValue("a batch", within: .seconds(100)) {
                    let answer = try await Tool.run(NATSServers.python, [file])
                    return answer.output.contains("left-wrist") ? answer.output : nil
                }
                #expect(output.contains("left-wrist accelerometer 0"))
            }
        }
    }
}
