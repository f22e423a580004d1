import ConsoleCore
import MessageBus
import Messages
import ServiceKit
import Testing
import WebServer

/// The messages that viewers receive, in virtual time.
struct LiveViewTests {
    private static let name = StreamName(device: "wrist", stream: "accelerometer")

    /// A view, and the messages that its effects would send to viewers.
    private final class Bench {
        let view: LiveView
        var now = Moment(monotonic: 0, date: WallTime(seconds: 1_800_000_000))
        var sent: [Int: [ViewerQueue.Chunk]] = [:]
        var subscribed: [String] = []
        var recoveries: [StreamName] = []
        var looks = 0
        var faults = 0

        init() { view = LiveView(at: now) }

        func advance(_ milliseconds: Int64) {
            let end = now.monotonic + milliseconds * 1_000_000
            while view.nextDeadline <= end {
                move(to: max(now.monotonic, view.nextDeadline))
                view.wake(at: now)
                perform()
            }
            move(to: end)
        }

        private func move(to monotonic: Int64) {
            now.date.nanosecondsSince1970 += monotonic - now.monotonic
            now.monotonic = monotonic
        }

        func perform() {
            for effect in view.takeEffects() {
                switch effect {
                case .send(let chunk, let viewers): for viewer in viewers { sent[viewer, default: []].append(chunk) }
                case .subscribe(let topic): subscribed.append("+\(topic)")
                case .unsubscribe(let topic): subscribed.append("-\(topic)")
                case .recover(let name): recoveries.append(name)
                case .lookAtState:
                    looks += 1
                    view.take(state: Array("{}".utf8))
                    perform()
                case .notice(.malformed): faults += 1
                case .notice: break
                }
            }
        }

        func take(_ topic: String, _ body: [UInt8], packed: [UInt8]? = nil) throws {
            defer { perform() }
            try Array(topic.utf8).withUnsafeBytes { topic in
                try body.withUnsafeBytes { body in
                    if let packed {
                        try packed.withUnsafeBytes { packed in
                            _ = try view.take(
                                EventFrames(topic: topic, body: body, time: topic, packed: packed), at: now)
                        }
                    } else {
                        _ = try view.take(EventFrames(topic: topic, body: body, time: topic), at: now)
                    }
                }
            }
        }

        func describe(
            _ name: StreamName = LiveViewTests.name, fields: [String] = ["x"], unit: String? = nil, next: Int = 0,
            rate: Double? = 100
        ) throws {
            let description = StreamDescription(
                source: "sensor-publisher", sequence: 0, device: name.device, stream: name.stream, epoch: "E",
                state: .running, fields: ["uptime"] + fields, unit: unit, rate: rate, packed: false, nextSequence: next,
                replay: "tcp://127.0.0.1:5551", clock: ClockReading(uptime: 0, date: now.date))
            try take(description.topic, WireCoding.encode(description))
        }

        static func batch(
            _ sequence: Int, _ values: [Double], of name: StreamName = LiveViewTests.name, epoch: String = "E"
        ) -> SampleBatch {
            SampleBatch(
                source: "sensor-publisher", sequence: sequence, device: name.device, stream: name.stream, epoch: epoch,
                count: values.count, fields: ["uptime", "x"],
                clock: ClockReading(uptime: 0, date: WallTime(seconds: 1_800_000_000)),
                values: values.enumerated().map { [Double(sequence + $0) / 100, $1] })
        }

        func publish(_ batch: SampleBatch) throws { try take(batch.topic, WireCoding.encode(batch)) }

        /// The messages that a viewer was sent since the last call, as text.
        func text(_ viewer: Int) -> String {
            defer { sent[viewer] = [] }
            return String(decoding: (sent[viewer] ?? []).flatMap(\.bytes), as: UTF8.self)
        }
    }

    /// A bench with one stream and one viewer, which has already received the state.
    private static func viewed(rate: Double? = 100) throws -> (Bench, Int) {
        let bench = Bench()
        try bench.describe(rate: rate)
        let viewer = try #require(bench.view.join(nil, at: bench.now))
        bench.perform()
        bench.advance(100)
        _ = bench.text(viewer)
        return (bench, viewer)
    }

    @Test func batchesThatComeTogetherAreOneEvent() throws {
        let (bench, viewer) = try Self.viewed()
        try bench.publish(Bench.batch(0, [1, 2]))
        bench.advance(0)
        #expect(
            bench.text(viewer) == """
                event: samples
                data: {"device":"wrist","stream":"accelerometer","epoch":"E","first":0,"count":2,"received":1800000000.1,\
                "times":[1800000000,1800000000.01],"fields":{"x":[1,2]}}


                """)
        try bench.publish(Bench.batch(2, [3]))
        try bench.publish(Bench.batch(3, [4]))
        bench.advance(49)
        #expect(bench.text(viewer) == "")
        bench.advance(1)
        let text = bench.text(viewer)
        #expect(text.contains(#""first":2,"count":2"#) && text.contains(#""x":[3,4]"#))
    }

    @Test func aViewerGetsTheStreamsThatItNamed() throws {
        let other = StreamName(device: "wrist", stream: "gyro")
        let bench = Bench()
        try bench.describe()
        let one = try #require(bench.view.join([Self.name], at: bench.now))
        let none = try #require(bench.view.join([], at: bench.now))
        bench.perform()
        try bench.describe(other)
        #expect(bench.subscribed == ["+samples/wrist/accelerometer"])
        let all = try #require(bench.view.join(nil, at: bench.now))
        bench.perform()
        #expect(bench.subscribed.sorted() == ["+samples/wrist/accelerometer", "+samples/wrist/gyro"])
        bench.advance(100)
        try bench.publish(Bench.batch(0, [1]))
        try bench.publish(Bench.batch(0, [2], of: other))
        bench.advance(100)
        #expect(bench.sent[one]?.map(\.samples).reduce(0, +) == 1)
        #expect(bench.sent[all]?.map(\.samples).reduce(0, +) == 2)
        #expect(bench.sent[none]?.map(\.samples).reduce(0, +) == 0)
        bench.view.leave([one, all])
        bench.perform()
        #expect(bench.subscribed.count(where: { $0.hasPrefix("-") }) == 2)
        bench.view.leave([none])
        #expect(bench.view.nextDeadline == .max)
    }

    @Test func whatIsMissingIsToldAtOnceAndWhenItCame() throws {
        let (bench, viewer) = try Self.viewed()
        try bench.publish(Bench.batch(0, [1]))
        bench.advance(100)
        _ = bench.text(viewer)
        try bench.publish(Bench.batch(4, [5]))
        bench.advance(50)
        let open = bench.text(viewer)
        #expect(open.contains(#""first":1,"count":3,"from":1800000000,"to":1800000000.04,"state":"open"}"#))
        // Newer samples are not held back.
        #expect(open.contains(#""x":[5]"#))
        #expect(bench.recoveries == [Self.name])
        let request = try #require(bench.view.missing(Self.name, at: bench.now)).request
        #expect(request.from == 1 && request.count == 3)
        bench.view.take([try WireCoding.encode(Bench.batch(1, [2, 3, 4]))][...], count: 3, for: request, at: bench.now)
        bench.advance(50)
        let closed = bench.text(viewer)
        #expect(closed.contains(#""first":1,"count":3,"received""#) && closed.contains(#""x":[2,3,4]"#))
        #expect(closed.contains(#""state":"recovered""#))
        #expect(bench.view.missing(Self.name, at: bench.now) == nil)
        #expect(bench.view.samplesLost == 0)
    }

    @Test func aGapEndsWithTheFirstSampleAfterIt() throws {
        let (bench, viewer) = try Self.viewed()
        try bench.publish(Bench.batch(0, [1]))
        bench.advance(100)
        _ = bench.text(viewer)
        try bench.publish(Bench.batch(4, Array(repeating: 5, count: 10)))
        bench.advance(50)
        let end = #""first":1,"count":3,"from":1800000000,"to":1800000000.04,"state":"open"}"#
        #expect(bench.text(viewer).contains(end))
    }

    @Test func whatThePublisherDoesNotHaveIsLost() throws {
        let (bench, viewer) = try Self.viewed()
        try bench.publish(Bench.batch(0, [1]))
        try bench.publish(Bench.batch(5, [6]))
        bench.advance(50)
        _ = bench.text(viewer)
        let request = try #require(bench.view.missing(Self.name, at: bench.now)).request
        bench.view.take([try WireCoding.encode(Bench.batch(3, [4, 5]))][...], count: 2, for: request, at: bench.now)
        bench.advance(50)
        let text = bench.text(viewer)
        #expect(text.contains(#""first":1,"count":2,"from":1800000000,"to":1800000000.03,"state":"lost"}"#))
        #expect(text.contains(#""x":[4,5]"#) && !text.contains("recovered"))
        #expect(bench.view.samplesLost == 2)
        #expect(bench.view.missing(Self.name, at: bench.now) == nil)
    }

    @Test func aLossAfterSamplesThatArrivedBeginsWithThem() throws {
        let (bench, viewer) = try Self.viewed()
        try bench.publish(Bench.batch(0, [1]))
        try bench.publish(Bench.batch(5, [6]))
        let first = try #require(bench.view.missing(Self.name, at: bench.now)).request
        bench.view.take([try WireCoding.encode(Bench.batch(1, [2, 3]))][...], count: 2, for: first, at: bench.now)
        let second = try #require(bench.view.missing(Self.name, at: bench.now)).request
        #expect(second.from == 3 && second.count == 2)
        bench.view.giveUp(second, reason: .notRetained, at: bench.now)
        bench.advance(50)
        let lost = #""first":3,"count":2,"from":1800000000.02,"to":1800000000.05,"state":"lost"}"#
        #expect(bench.text(viewer).contains(lost))
    }

    @Test func theLastSamplesAreMissedByTheDescription() throws {
        let (bench, viewer) = try Self.viewed()
        try bench.publish(Bench.batch(0, [1]))
        try bench.describe(next: 3)
        bench.advance(50)
        #expect(bench.text(viewer).contains(#""first":1,"count":2,"from":1800000000,"to":null,"state":"open"}"#))
        let request = try #require(bench.view.missing(Self.name, at: bench.now)).request
        bench.view.giveUp(request, reason: .notRetained, at: bench.now)
        bench.advance(50)
        #expect(bench.text(viewer).contains(#""state":"lost""#))
    }

    @Test func samplesBeforeTheFirstAreNotMissing() throws {
        let (bench, viewer) = try Self.viewed()
        try bench.describe(next: 1_000)
        try bench.publish(Bench.batch(1_000, [1]))
        bench.advance(50)
        #expect(!bench.text(viewer).contains("gap"))
        // Nor are those of another run of the publisher.
        try bench.publish(Bench.batch(7, [1], epoch: "F"))
        bench.advance(50)
        let text = bench.text(viewer)
        #expect(text.contains(#""epoch":"F","first":7"#) && !text.contains("gap"))
    }

    @Test func denseStreamsAreColumns() throws {
        let (bench, viewer) = try Self.viewed(rate: 1_000)
        var batch = Bench.batch(0, [3, 1, 2, 7, 9, 8])
        // Three samples in each of two intervals of 10 ms.
        batch.values = batch.values?.enumerated().map { [Double($0) / 300, $1[1]] }
        try bench.publish(batch)
        bench.advance(50)
        let text = bench.text(viewer)
        #expect(text.contains(#""count":6"#))
        #expect(text.contains(#""times":[1800000000,1800000000.01],"width":0.01,"columns":{"x":[[1,3],[7,9]]}}"#))
    }

    /// A publisher's clock may be set to any date, and a sample may have any uptime.
    @Test func aTimeThatNoClockCanHaveIsShownAsTheEarliest() throws {
        let (bench, viewer) = try Self.viewed(rate: 500)
        var batch = Bench.batch(0, [1])
        batch.clock.date = try WallTime(iso8601: "1678-01-01T00:00:00Z")
        batch.values = [[-1e9, 1]]
        try bench.publish(batch)
        bench.advance(50)
        let text = bench.text(viewer)
        #expect(text.contains(#""times":[-4500000000],"width":0.01,"columns":{"x":[[1,1]]}}"#), "\(text)")
    }

    @Test func packedSamplesAreTheSame() throws {
        let (bench, viewer) = try Self.viewed()
        var batch = Bench.batch(0, [1.5, .nan])
        let values = batch.values ?? []
        batch.values = nil
        let packed = values.flatMap { $0 }.flatMap { withUnsafeBytes(of: $0.bitPattern.littleEndian, Array.init) }
        try bench.take(batch.topic, WireCoding.encode(batch), packed: packed)
        bench.advance(50)
        #expect(bench.text(viewer).contains(#""x":[1.5,null]"#))
    }

    @Test func textCannotBeginAnEventOfItsOwn() throws {
        let (bench, viewer) = try Self.viewed()
        let body = #"""
            {"clock":{"date":"2026-11-21T02:55:01.123456Z","uptime":1},"count":1,"device":"wrist","epoch":"E",
            "fields":["uptime","note","more"],"schema":"samples.v1","sequence":0,"source":"s","stream":"accelerometer",
            "types":["number","text","json"],"values":[[1,"a\nevent: state\u0000</script>",{"b":

            [1]}]]}
            """#
        try bench.take("samples/wrist/accelerometer", Array(body.utf8))
        try bench.take("log/x", Array("{\"schema\":\"log.v1\",\n\n\"a\":1}\n".utf8))
        bench.advance(50)
        let text = bench.text(viewer)
        // Two events, each of two lines and an empty one.
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count == 7)
        #expect(text.contains(#""note":["a\nevent: state\u0000</script>"]"#))
        #expect(text.contains(#"data: {"topic":"log.v1","event":{"schema":"log.v1","#))
    }

    @Test func whatCannotBeReadIsLeftOutAndTheRestGoesOn() throws {
        let (bench, viewer) = try Self.viewed()
        try bench.publish(Bench.batch(0, [1]))
        var wrong = Bench.batch(1, [2, 3])
        wrong.values?[1] = [0]
        #expect(throws: MessageError.self) { try bench.publish(wrong) }
        #expect(throws: MessageError.self) { try bench.take("steps/wrist", Array("{\"schema\":\"a\"".utf8)) }
        #expect(throws: (any Error).self) { try bench.take("steps/wrist", Array("[]".utf8)) }
        try bench.publish(Bench.batch(3, [4]))
        bench.advance(50)
        let text = bench.text(viewer)
        #expect(text.contains(#""x":[1]"#) && text.contains(#""x":[4]"#) && !text.contains(#""x":[2"#))
    }

    @Test func theStateIsLookedAtOncePerSecondAndSentWhenItChanges() throws {
        let (bench, viewer) = try Self.viewed()
        #expect(bench.looks == 1)
        bench.advance(3_000)
        #expect(bench.looks == 4)
        #expect(bench.text(viewer) == "")
        bench.view.take(state: Array(#"{"a":1}"#.utf8))
        bench.perform()
        #expect(bench.text(viewer) == "event: state\ndata: {\"a\":1}\n\n")
        let next = try #require(bench.view.join(nil, at: bench.now))
        bench.perform()
        #expect(bench.text(next) == "event: state\ndata: {\"a\":1}\n\n")
    }

    /// Sends a text message as a Foxglove client.
    private static func say(_ text: String, _ client: Int, to bench: Bench) -> [FoxgloveRequest] {
        let requests = bench.view.take(.text(Array(text.utf8)), ofFoxglove: client, at: bench.now)
        bench.perform()
        return requests
    }

    @Test func aClientOfFoxgloveIsSentWhatItSubscribesTo() throws {
        let bench = Bench()
        try bench.describe()
        let client = try #require(bench.view.joinFoxglove(as: .command))
        bench.perform()
        let greeting = bench.text(client)
        #expect(greeting.contains(#""op":"serverInfo""#) && greeting.contains(#""op":"advertiseServices""#))
        #expect(greeting.contains(#""topic":"/wrist/accelerometer""#))
        #expect(bench.subscribed == [])
        #expect(Self.say(#"{"op":"subscribe","subscriptions":[{"id":513,"channelId":1}]}"#, client, to: bench).isEmpty)
        #expect(bench.subscribed == ["+samples/wrist/accelerometer"])
        try bench.publish(Bench.batch(0, [1.5]))
        // The missing samples are sent when they are replayed, with their own times.
        try bench.publish(Bench.batch(2, [3]))
        let request = try #require(bench.view.missing(Self.name, at: bench.now)).request
        bench.view.take([try WireCoding.encode(Bench.batch(1, [2]))][...], count: 1, for: request, at: bench.now)
        bench.advance(50)
        let frames = try #require(bench.sent[client]).flatMap(\.bytes)
        func frame(_ value: String, _ hundredths: UInt64) -> [UInt8] {
            let body = Array(#"{"x":\#(value)}"#.utf8)
            let time = 1_800_000_000_000_000_000 + hundredths * 10_000_000
            return [130, UInt8(13 + body.count), 1, 1, 2, 0, 0] + withUnsafeBytes(of: time.littleEndian) { Array($0) }
                + body
        }
        #expect(frames == frame("1.5", 0) + frame("3", 2) + frame("2", 1))
        #expect(Self.say(#"{"op":"unsubscribe","subscriptionIds":[513]}"#, client, to: bench).isEmpty)
        #expect(bench.subscribed.last == "-samples/wrist/accelerometer")
        bench.view.leave([client])
        #expect(bench.view.clientCount == 0)
    }

    /// Only acceleration with gravity fits `sensor_msgs/msg/Imu`.
    @Test func anAccelerometerIsAnImuAndAccelerationWithoutGravityIsNone() throws {
        let bench = Bench()
        for stream in ["accelerometer", "userAcceleration", "linear_acceleration"] {
            try bench.describe(StreamName(device: "phone", stream: stream), fields: ["x", "y", "z"], unit: "m/s2")
        }
        let client = try #require(bench.view.joinFoxglove(as: .listen))
        bench.perform()
        let greeting = bench.text(client)
        #expect(greeting.contains(#""topic":"/phone/userAcceleration""#))
        #expect(greeting.contains(#""topic":"/phone/accelerometer/imu""#))
        #expect(!greeting.contains(#"cceleration/imu""#))
    }

    @Test func aSchemaHasTheUnitOfTheFieldsWithItsQuantity() throws {
        let bench = Bench()
        try bench.describe(
            StreamName(device: "phone", stream: "deviceMotion"), fields: ["gravity.x", "rotationRate.x"], unit: "g")
        let client = try #require(bench.view.joinFoxglove(as: .listen))
        bench.perform()
        let greeting = bench.text(client)
        #expect(greeting.contains(#"\"gravity.x\":{\"type\":\"number\",\"description\":\"g\"}"#), "\(greeting)")
        #expect(greeting.contains(#"\"rotationRate.x\":{\"type\":\"number\"}"#), "\(greeting)")
    }

    @Test func streamsWhoseNamesDifferInPunctuationHaveDifferentTopics() throws {
        let bench = Bench()
        for device in ["left-wrist", "left_wrist"] {
            try bench.describe(StreamName(device: device, stream: "accelerometer"), fields: ["x", "y", "z"], unit: "g")
        }
        let client = try #require(bench.view.joinFoxglove(as: .listen))
        bench.perform()
        let greeting = bench.text(client)
        for topic in ["accelerometer", "accelerometer/imu", "accelerometer_", "accelerometer_/imu"] {
            #expect(greeting.ranges(of: #""topic":"/left_wrist/\#(topic)""#).count == 1, "\(topic)")
        }
    }

    @Test func whatFoxgloveAsksIsAskedAndAnswered() throws {
        let bench = Bench()
        let client = try #require(bench.view.joinFoxglove(as: .command))
        func call(_ service: UInt8, _ body: String) throws -> FoxgloveRequest? {
            let message = [2, service, 0, 0, 0, 9, 0, 0, 0, 4, 0, 0, 0] + Array("json\(body)".utf8)
            defer { bench.perform() }
            return bench.view.take(.binary(message), ofFoxglove: client, at: bench.now).first
        }
        let start = try #require(try call(1, #"{"task":"Walk"}"#))
        #expect(start.method == "recording.start")
        #expect(
            String(decoding: try start.completed(running: []), as: UTF8.self) == #"{"streams":["*"],"task":"Walk"}"#)
        let stop = try #require(try call(2, ""))
        #expect(String(decoding: try stop.completed(running: ["a"]), as: UTF8.self) == #"{"session":"a"}"#)
        #expect(throws: RequestError.self) { try stop.completed(running: []) }
        #expect(throws: RequestError.self) { try stop.completed(running: ["a", "b"]) }
        _ = bench.text(client)
        bench.view.answer(stop, .success(Array("{}".utf8)), to: client, at: bench.now)
        bench.perform()
        let reply: [UInt8] = [130, 19, 3, 2, 0, 0, 0, 9, 0, 0, 0, 4, 0, 0, 0] + Array("json{}".utf8)
        #expect(bench.sent[client]?.flatMap(\.bytes) == reply)
        bench.view.answer(stop, .failure(.notJSON("why")), to: client, at: bench.now)
        bench.perform()
        #expect(bench.text(client).contains(#""callId":9,"message":"why","op":"serviceCallFailure""#))
        #expect(try call(77, "{}") == nil)
        #expect(bench.text(client).contains("there is no such service"))
        for text in [
            "", "{", "[]", #"{"op":"advertise"}"#, #"{"op":"subscribe","subscriptions":[{"id":1,"channelId":5}]}"#,
        ] {
            #expect(Self.say(text, client, to: bench).isEmpty)
            #expect(bench.text(client).contains(#""level":2"#), "\(text)")
        }
        let set = Self.say(
            #"{"op":"setParameters","parameters":[{"name":"recording.running","value":true},{"name":"x","value":1}]}"#,
            client, to: bench)
        #expect(set.map(\.method) == ["recording.start"])
    }

    @Test func clientsOfFoxgloveAreToldWheneverOtherSessionsRun() throws {
        let bench = Bench()
        let client = try #require(bench.view.joinFoxglove(as: .command))
        bench.perform()
        _ = bench.text(client)
        func tell(_ status: String) throws {
            let event = RecordingEvent(
                source: "recorder", sequence: 0, session: "walk", date: bench.now.date, change: .status, status: status,
                step: "")
            try bench.take(event.topic, WireCoding.encode(event))
        }
        let (runs, doesNot) = (
            #""name":"recording.running","value":true"#, #""name":"recording.running","value":false"#
        )
        // The client is also told about a session that began before it subscribed.
        try tell("running")
        #expect(bench.text(client) == "")
        let subscribe = #"{"op":"subscribeParameterUpdates","parameterNames":["recording.running"]}"#
        #expect(Self.say(subscribe, client, to: bench).isEmpty)
        #expect(bench.text(client).contains(runs))
        // The recorder falls silent, even while its running sessions are requested; then it is heard again.
        bench.advance(4_999)
        try tell("running")
        bench.advance(4_999)
        #expect(bench.text(client) == "")
        bench.advance(1)
        #expect(bench.view.runningSessions(at: bench.now) == [])
        #expect(bench.text(client).contains(doesNot))
        try tell("running")
        #expect(bench.text(client).contains(runs))
        try tell("finished")
        #expect(bench.text(client).contains(doesNot))
        bench.advance(10_000)
        #expect(bench.text(client) == "")
    }

    @Test func thereAreOnlySoManyViewers() throws {
        let bench = Bench()
        for _ in 0..<LiveView.maximumViewers { #expect(bench.view.join(nil, at: bench.now) != nil) }
        #expect(bench.view.join(nil, at: bench.now) == nil)
        bench.view.leave([1])
        #expect(bench.view.join(nil, at: bench.now) != nil)
    }

    @Test func streamsThatNoPublisherListedAreKnownByTheirDescriptions() throws {
        let bench = Bench()
        let other = StreamName(device: "ankle", stream: "accelerometer")
        try bench.describe()
        try bench.describe(other)
        func heard(besides listed: [StreamDescription] = []) -> [StreamDescription] {
            bench.view.heardStreams(besides: listed, at: bench.now)
        }
        var first = try #require(heard().first)
        #expect(heard().map(\.name) == [other, Self.name])
        #expect(heard(besides: [first]).map(\.name) == [Self.name])
        // Its publisher shuts down; the one of the other stream falls silent.
        first.over = true
        try bench.take(first.topic, WireCoding.encode(first))
        #expect(heard().map(\.name) == [Self.name])
        bench.advance(5_000)
        #expect(heard().isEmpty)
    }

    @Test func sessionsThatRunAreKnownByTheirEvents() throws {
        let bench = Bench()
        #expect(bench.view.runningSessions(at: bench.now) == nil)
        func tell(_ session: String, _ change: RecordingEvent.Change, _ status: String) throws {
            let event = RecordingEvent(
                source: "recorder", sequence: 0, session: session, date: bench.now.date, change: change, status: status,
                step: "")
            try bench.take(event.topic, WireCoding.encode(event))
        }
        try tell("a", .current, "running")
        try tell("b", .status, "running")
        #expect(bench.view.runningSessions(at: bench.now) == ["a", "b"])
        try tell("b", .status, "finished")
        #expect(bench.view.runningSessions(at: bench.now) == ["a"])
        bench.advance(6_000)
        #expect(bench.view.runningSessions(at: bench.now) == [])
    }
}
