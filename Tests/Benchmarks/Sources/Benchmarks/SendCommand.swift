import ArgumentParser
import CZMQ
import Glibc
import MessageBus
import Messages
import Plain
import ZeroMQ

/// Publishes a given number of samples as fast as possible: a sender in plain C calls, which waits when a subscriber is full
/// (ZMQ_XPUB_NODROP), so that the receiver is measured.
///
/// The sender prints its endpoints; describes its stream until a line arrives on standard input; sends; prints `sent`; and
/// answers `streams.list` until its input ends.
struct SendCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "send", shouldDisplay: false)

    @Option var wire: Wire.Kind
    @Option var batch: Int
    @Option var samples: Int

    func run() throws {
        let context = zmq_ctx_new()
        let publisher = zmq_socket(context, ZMQ_PUB)
        var one: Int32 = 1
        var mark: Int32 = 1_000
        zmq_setsockopt(publisher, ZMQ_XPUB_NODROP, &one, 4)
        zmq_setsockopt(publisher, ZMQ_SNDHWM, &mark, 4)
        let replier = zmq_socket(context, ZMQ_REP)
        if let keys = try Keys.pair(of: "sensor-publisher") {
            for socket in [publisher, replier] {
                zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &one, 4)
                zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, keys.secretKey.text, 40)
            }
        }
        let batches = try batches()
        let publishEndpoint = try bind(publisher)
        let replyEndpoint = try bind(replier)
        Standard.print("\(publishEndpoint) \(replyEndpoint)")

        var input = zmq_pollitem_t(socket: nil, fd: STDIN_FILENO, events: Int16(ZMQ_POLLIN), revents: 0)
        while true {
            try describe(on: publisher, replyEndpoint, nextSequence: 0)
            try answer(replier, replyEndpoint, nextSequence: 0)
            if zmq_poll(&input, 1, 20) > 0 { break }
        }
        _ = readLine()
        guard plain_send(publisher, Wire.topic, batches, Int32(batches.count), Int64(batch), Int64(samples)) == 0 else {
            throw ExitCode.failure
        }
        Standard.print("sent")
        while true {
            try answer(replier, replyEndpoint, nextSequence: samples)
            if zmq_poll(&input, 1, 20) > 0 { return }
        }
    }

    private func bind(_ socket: UnsafeMutableRawPointer?) throws -> String {
        guard zmq_bind(socket, "tcp://127.0.0.1:*") == 0 else { throw ValidationError("zmq_bind failed") }
        var text = [UInt8](repeating: 0, count: 256)
        var size = text.count
        zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, &text, &size)
        return String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
    }

    private func describe(on publisher: UnsafeMutableRawPointer?, _ reply: String, nextSequence: Int) throws {
        let description = Wire.description(nextSequence: nextSequence, isPacked: wire == .packed, replay: reply)
        let body = try WireCoding.encode(description)
        let topic = Array(description.topic.utf8)
        let time = EventTime.text(of: .now)
        zmq_send(publisher, topic, topic.count, ZMQ_SNDMORE)
        zmq_send(publisher, body, body.count, ZMQ_SNDMORE)
        zmq_send(publisher, time, time.count, 0)
    }

    private func answer(_ replier: UnsafeMutableRawPointer?, _ endpoint: String, nextSequence: Int) throws {
        var request = [UInt8](repeating: 0, count: 65_536)
        let size = zmq_recv(replier, &request, request.count, ZMQ_DONTWAIT)
        guard size >= 0 else { return }
        let header = try WireCoding.decode(RequestHeader.self, from: request.prefix(Int(size)))
        let reply: [UInt8]
        if header.method == StreamsList.method {
            let description = Wire.description(
                nextSequence: nextSequence, isPacked: wire == .packed, replay: endpoint)
            reply = try WireCoding.encode(
                ReplyEnvelope(id: header.id, result: StreamsList.Reply(streams: [description])))
        } else {
            // The sender keeps nothing, so a receiver that lost samples reports a gap.
            reply = try WireCoding.encode(
                ReplyEnvelope<Empty>(id: header.id, error: RequestError(.unknownStream, "nothing is kept here")))
        }
        zmq_send(replier, reply, reply.count, 0)
    }

    /// Batches without their sequence, in memory that lasts until the process ends.
    ///
    /// Bodies differ only in their sequence; the rows repeat a few prepared ones, because their preparation is not measured.
    private func batches() throws -> [plain_batch] {
        let encoder = SampleBatchEncoder(
            source: "benchmarks", device: Wire.device, stream: Wire.stream, epoch: Wire.epoch, fields: Wire.fields,
            isPacked: wire == .packed)
        let clock = ClockReading(uptime: 1_000, date: .now)
        let variants = max(1, 4_096 / batch)
        var batches: [plain_batch] = []
        for variant in 0..<variants {
            let rows = Wire.rows(batch, from: variant * batch)
            var body = ByteBuffer(capacity: 1 << 16)
            var matrix = ByteBuffer(capacity: 1 << 16)
            rows.withUnsafeBufferPointer { rows in
                encoder.encode(sequence: 123_456_789, count: batch, clock: clock, rows: rows, into: &body)
                encoder.encodePacked(rows, into: &matrix)
            }
            let text = body.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            guard let mark = text.firstRange(of: "123456789") else { throw ValidationError("no sequence in the body") }
            let before = Self.lasting(text[..<mark.lowerBound].utf8)
            let after = Self.lasting(text[mark.upperBound...].utf8)
            let packed = wire == .packed ? matrix.withUnsafeBytes { Self.lasting($0) } : nil
            batches.append(
                plain_batch(
                    before: before.baseAddress, before_size: before.count, after: after.baseAddress,
                    after_size: after.count, matrix: packed?.baseAddress, matrix_size: packed?.count ?? 0))
        }
        return batches
    }

    private static func lasting(_ bytes: some Collection<UInt8>) -> UnsafeBufferPointer<CChar> {
        let memory = UnsafeMutableBufferPointer<CChar>.allocate(capacity: bytes.count)
        _ = memory.initialize(from: bytes.lazy.map { CChar(bitPattern: $0) })
        return UnsafeBufferPointer(memory)
    }
}
