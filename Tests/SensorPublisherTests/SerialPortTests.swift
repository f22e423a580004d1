import FoundationEssentials
import Glibc
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// The real program with a serial port: one end of a pseudo-terminal, under a name that later leads to another one.
@Suite(.timeLimit(.minutes(2)))
struct SerialPortTests {
    private let context: Context
    private let thread: SocketThread

    init() throws {
        context = try Context()
        thread = try SocketThread(name: "test")
    }

    /// Plugs in a device: the program reads at a path the bytes that the device writes.
    private func plug(at path: FilePath) throws -> FileDescriptor {
        let device = try FileDescriptor.open("/dev/ptmx", .readWrite, options: .closeOnExec)
        // TIOCGPTN and TIOCSPTLCK of asm-generic/ioctls.h: the terminal's number, and its unlocking.
        var (number, lock): (CInt, CInt) = (0, 0)
        try #require(
            ioctl(device.rawValue, 0x8004_5430, &number) == 0 && ioctl(device.rawValue, 0x4004_5431, &lock) == 0)
        unlink(path.string)
        try #require(symlink("/dev/pts/\(number)", path.string) == 0)
        return device
    }

    @Test func aDeviceIsReadThatIsPluggedInLateAndAgainAfterItWasAway() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("sensor")
            let arguments =
                ProgramUnderTest.anyPorts
                + ["--serial", path.string, "--device", "board", "--rate", "100", "--baud", "57600"]
            try await ProgramUnderTest.run("sensor-publisher", arguments: arguments) { program in
                let ready = try await program.ready()
                let client = try RequestClient(context: context, thread: thread, endpoint: ready.reply)
                func stream() async throws -> StreamDescription? {
                    try await client.send(StreamsList(), timeout: .seconds(50)).streams.first
                }
                func health() async throws -> ServiceHealth.Reply {
                    try await client.send(ServiceHealth(), timeout: .seconds(50))
                }
                try await eventually("a port that is away") {
                    try await health().reasons.contains { $0.contains("\(path) can't be opened") }
                }
                let first = try plug(at: path)
                try await eventually("samples") {
                    _ = try first.writeAll("t,x,y,z\n0,1,2,3\n0.01,?,2,3\n0.02,4,5,6\n".utf8)
                    return try await stream()?.nextSequence ?? 0 > 1
                }
                try await eventually("a line that is left out") {
                    try await health().reasons.contains { $0.contains("lines could not be read") }
                }
                try first.close()
                try await eventually("a port that is away again") { try await stream()?.state == .failed }
                let before = try #require(try await stream()).nextSequence
                let second = try plug(at: path)
                try await eventually("samples again") {
                    _ = try second.writeAll("t,x,y,z\n0,7,8,9\n".utf8)
                    guard let now = try await stream() else { return false }
                    return now.state == .running && now.nextSequence > before + 1
                }
                let described = try #require(try await stream())
                #expect(described.origin == .measured)
                #expect(described.description == "serial:csv")
                // Samples lost while the device was away are a gap of estimated length.
                let error = await #expect(throws: RequestError.self) {
                    try await client.send(
                        SamplesReplay(
                            device: "board", stream: "accelerometer", epoch: described.epoch, from: before, count: 1),
                        timeout: .seconds(50))
                }
                #expect(error?.data?.reason == "estimated")
                try second.close()
                try program.send(.terminate)
                let end = try await program.end()
                #expect(end == .exited(0))
            }
        }
    }

    @Test func whatIsNoSerialPortIsNamed() async throws {
        try await withFile("table.csv", "t,x\n0,1\n") { path in
            let arguments = ProgramUnderTest.anyPorts + ["--serial", path]
            try await ProgramUnderTest.run("sensor-publisher", arguments: arguments) { program in
                let ready = try await program.ready()
                let client = try RequestClient(context: context, thread: thread, endpoint: ready.reply)
                try await eventually("a reason") {
                    try await client.send(ServiceHealth(), timeout: .seconds(50)).reasons
                        .contains { $0.contains("give --serial a serial port") }
                }
            }
        }
        let arguments = ["--serial", "/dev/ttyUSB0", "--baud", "12345", "--check"]
        try await ProgramUnderTest.run("sensor-publisher", arguments: arguments) { program in
            let end = try await program.end()
            #expect(end == .exited(78))
            #expect(program.standardError.contains("baud: 12345 is not possible"))
        }
    }
}
