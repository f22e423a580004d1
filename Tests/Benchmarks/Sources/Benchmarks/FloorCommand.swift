import ArgumentParser
import CZMQ
import Glibc
import ZeroMQ

/// The floor: a plain loop that receives and writes what it received as it is, through a 256 KiB buffer, with one
/// fdatasync(2) every 100 ms in the same thread. No parsing, no formatting, no record of what came.
struct FloorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "floor", shouldDisplay: false)

    @Option var endpoint: String
    @Option var file: String
    @Option var wire: Wire.Kind
    @Option var messages: Int

    func run() throws {
        let context = zmq_ctx_new()
        let subscriber = zmq_socket(context, ZMQ_SUB)
        zmq_setsockopt(subscriber, ZMQ_SUBSCRIBE, "samples/", 8)
        zmq_setsockopt(subscriber, ZMQ_SUBSCRIBE, "stream/", 7)
        if let server = try Keys.pair(of: "sensor-publisher"), let keys = try Keys.pair(of: "recorder") {
            zmq_setsockopt(subscriber, ZMQ_CURVE_SERVERKEY, server.publicKey.text, 40)
            zmq_setsockopt(subscriber, ZMQ_CURVE_PUBLICKEY, keys.publicKey.text, 40)
            zmq_setsockopt(subscriber, ZMQ_CURVE_SECRETKEY, keys.secretKey.text, 40)
        }
        guard zmq_connect(subscriber, endpoint) == 0 else { throw ValidationError("zmq_connect \(endpoint) failed") }
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw ValidationError("open \(file) failed") }

        let size = 256 << 10
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 4_096)
        var filled = 0
        var part = zmq_msg_t()
        zmq_msg_init(&part)
        var received = 0
        var isReady = false
        var lastSync = clock_gettime_nsec()
        let payload = wire == .packed ? 3 : 1
        while received < messages {
            var frame = 0
            var isSample = false
            repeat {
                guard zmq_msg_recv(&part, subscriber, 0) >= 0, let bytes = zmq_msg_data(&part) else { continue }
                let count = zmq_msg_size(&part)
                if frame == 0 {
                    isSample =
                        bytes.load(as: UInt8.self) == UInt8(ascii: "s") && count > 2
                        && bytes.load(fromByteOffset: 1, as: UInt8.self) == UInt8(ascii: "a")
                }
                if frame == payload, isSample {
                    if filled + count > size {
                        write(descriptor, buffer, filled)
                        filled = 0
                    }
                    if count > size {
                        write(descriptor, bytes, count)
                    } else {
                        memcpy(buffer + filled, bytes, count)
                        filled += count
                    }
                }
                frame += 1
            } while zmq_msg_more(&part) != 0
            if isSample { received += 1 }
            if !isReady {
                isReady = true
                Standard.print("ready")
            }
            if received & 255 == 0 {
                let now = clock_gettime_nsec()
                if now - lastSync > 100_000_000 {
                    fdatasync(descriptor)
                    lastSync = now
                }
            }
        }
        write(descriptor, buffer, filled)
        fdatasync(descriptor)
        Standard.print("done")
    }

    private func clock_gettime_nsec() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}
