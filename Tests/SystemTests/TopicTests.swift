import MessageBus
import Messages
import TestSupport
import Testing
import ZeroMQ

/// What a subscriber receives, and how it learns of missed messages.
@Suite(.timeLimit(.minutes(5)))
struct TopicTests {
    private static let twoDevices = """
        {"sensor-publisher": {"streams": [
          {"device": "left-wrist", "stream": "accelerometer", "signal": "sine:amplitude=1", "rate": 200},
          {"device": "left-wrist", "stream": "gyro", "signal": "sine:amplitude=2", "rate": 100},
          {"device": "left-wrist-2", "stream": "accelerometer", "signal": "sine:amplitude=3", "rate": 200}
        ]}}
        """

    @Test func aDevicesTopicGetsThatDeviceOnly() async throws {
        try await Rig.run(
            publishing: ["--config", "streams.json"], files: ["streams.json": Self.twoDevices]
        ) { rig in
            let subscriber = try Subscriber(context: rig.context, thread: rig.thread)
            try await subscriber.subscribe(to: "samples/left-wrist/")
            try await subscriber.connect(to: rig.publisherReady.publish)
            var topics: [String: Int] = [:]
            while topics.count < 2 || topics.values.contains(where: { $0 < 20 }) {
                let batch = try await subscriber.next()
                for message in 0..<batch.count {
                    topics[String(decoding: batch[message][0], as: UTF8.self), default: 0] += 1
                }
            }
            #expect(topics.keys.sorted() == ["samples/left-wrist/accelerometer", "samples/left-wrist/gyro"])
        }
    }

    @Test func aSubscriberThatJoinsLateKnowsWhatItMissedAndGetsIt() async throws {
        let publishing = ["--signal", "sine:amplitude=1", "--rate", "500", "--device", "phone"]
        try await Rig.run(publishing: publishing) { rig in
            try await eventually("some samples were published") {
                try await rig.streams.send(StreamsList(), timeout: .seconds(60)).streams.first?.nextSequence ?? 0 > 200
            }
            let late = try Subscriber(context: rig.context, thread: rig.thread)
            try await late.subscribe(to: "stream/")
            try await late.connect(to: rig.publisherReady.publish)
            let batch = try await late.next()
            let description = try batch.withUnsafeMessages {
                try EventFrames(0, of: $0).decode(StreamDescription.self)
            }
            #expect(description.nextSequence > 200)
            #expect(description.fields == ["uptime", "x", "y", "z"])
            let publisher = try RequestClient(
                context: rig.context, thread: rig.thread, endpoint: description.replay)
            let request = SamplesReplay(
                device: description.device, stream: description.stream, epoch: description.epoch, from: 0,
                count: description.nextSequence)
            let (reply, frames) = try await publisher.sendForFrames(request, timeout: .seconds(60))
            #expect(reply.from == 0)
            #expect(reply.count == description.nextSequence)
            var next = 0
            for frame in frames {
                let samples = try WireCoding.decode(SampleBatch.self, from: frame)
                #expect(samples.sequence == next)
                next += samples.count
            }
            #expect(next == description.nextSequence)
        }
    }

    @Test func aSessionRecordsAllStreamsOfADeviceAndNoOther() async throws {
        try await Rig.run(
            publishing: ["--config", "streams.json"], files: ["streams.json": Self.twoDevices]
        ) { rig in
            try await rig.start(RecordingStart(session: "wrist", streams: ["left-wrist/"]))
            try await eventually("samples of both streams") {
                let state = try await rig.recordings.send(RecordingStatus(session: "wrist"), timeout: .seconds(60))
                return state.logs.count == 2 && state.logs.allSatisfy { $0.samples > 10 }
            }
            let result = try await rig.stop("wrist")
            #expect(result.report.isWhole)
            #expect(result.logs.map(\.name).sorted() == ["left-wrist_accelerometer", "left-wrist_gyro"])
        }
    }
}
