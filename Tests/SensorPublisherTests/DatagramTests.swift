import Messages
import PublisherCore
import SampleSources
import ServiceKit
import TestSupport
import Testing

/// The bytes of datagrams, and the samples made of them in virtual time.
@Suite(.timeLimit(.minutes(1)))
struct DatagramTests {
    private static let second: Int64 = 1_000_000_000
    private let publisher: VirtualPublisher

    init() throws {
        publisher = try VirtualPublisher([], sources: [])
        publisher.begin()
    }

    private func datagram(_ text: String, from source: String = "192.168.1.7", at arrival: Int64 = 5) -> Datagram {
        Datagram(Array(text.utf8), from: source, at: arrival)
    }

    private func samples(_ text: String) throws -> UnnumberedSamples {
        let datagram = datagram(text)
        if let problem = datagram.problem { throw problem }
        guard case .unnumbered(let samples)? = datagram.messages.first, datagram.messages.count == 1 else {
            throw PublisherError(.invalidInput, "\(datagram.messages)")
        }
        return samples
    }

    private func take(_ text: String, from source: String = "192.168.1.7") {
        publisher.take(datagram(text, from: source, at: publisher.now.monotonic))
    }

    private func batches(_ name: StreamName) -> [RowBatch] {
        publisher.epochs[name]?.values.flatMap(\.self).sorted { $0.firstSequence < $1.firstSequence } ?? []
    }

    private func sequences(_ name: StreamName) -> [Int64] {
        batches(name).flatMap { batch in (0..<batch.count).map { batch.firstSequence + Int64($0) } }
    }

    // MARK: Formats

    /// The map of SensorStreamer.kt, as Jackson writes it.
    @Test func sensaGramIsReadToTheByte() throws {
        let text =
            #"{"timestamp":3925657519043709,"values":[0.31892395,-0.97802734,10.049896],"type":"android.sensor.accelerometer"}"#
        let samples = try samples(text)
        #expect(samples.device == "udp-192.168.1.7")
        let part = try #require(samples.parts.first)
        #expect(samples.parts.count == 1)
        #expect(part.stream == "accelerometer")
        #expect(part.unit == "m/s2")
        #expect(part.clock == .device)
        #expect(part.rows.fields == ["x", "y", "z"])
        #expect(part.rows.times == [3_925_657_519_043_709])
        #expect(part.rows.values == [0.31892395, -0.97802734, 10.049896])
    }

    @Test(arguments: [
        ("android.sensor.linear_acceleration", "userAcceleration", 3, ["x", "y", "z"]),
        (
            "android.sensor.magnetic_field_uncalibrated", "magnetometerUncalibrated", 6,
            ["x", "y", "z", "xBias", "yBias", "zBias"]
        ),
        ("android.sensor.game_rotation_vector", "gameRotationVector", 4, ["x", "y", "z", "w"]),
        ("android.sensor.light", "light", 1, ["value"]),
        ("com.samsung.sensor.hall_ic", "comSamsungSensorHallIc", 4, ["v0", "v1", "v2", "v3"]),
    ])
    func sensorsOfAndroidHaveNames(_ type: String, stream: String, count: Int, fields: [String]) throws {
        let values = (0..<count).map(String.init).joined(separator: ",")
        let part = try #require(
            try samples(#"{"timestamp":1,"values":[\#(values)],"type":"\#(type)"}"#).parts.first)
        #expect(part.stream == stream)
        #expect(part.rows.fields == fields)
    }

    @Test func positionsOfSensaGramAreAStream() throws {
        let text =
            #"{"type":"android.gps","longitude":6.06,"latitude":50.77,"altitude":200.5,"bearing":0.0,"accuracy":4.5,"speed":1.25,"time":1698501144000,"speedAccuracyMetersPerSecond":0.5,"bearingAccuracyDegrees":0.0,"elapsedRealtimeNanos":3925657519043709,"verticalAccuracyMeters":3.0}"#
        let part = try #require(try samples(text).parts.first)
        #expect(part.stream == "location")
        #expect(part.rows.fields == ["longitude", "latitude", "altitude", "bearing", "accuracy", "speed"])
        #expect(part.rows.values == [6.06, 50.77, 200.5, 0, 4.5, 1.25])
        #expect(part.rows.times == [3_925_657_519_043_709])
    }

    /// As in HIMUServer's README and its recorded file.
    @Test(arguments: ["\r\n", "#", " \r\n", ""])
    func linesOfHyperIMUAreRead(end: String) throws {
        let text = "1518819953744,0.123,0.586,0.2637,0.259,-0.5963,9.815,-4.4906617E-4,0.00,0.00\(end)"
        let parts = try samples(text).parts
        #expect(parts.map(\.stream) == ["sensor1", "sensor2", "sensor3"])
        #expect(
            parts.map(\.rows.values) == [[0.123, 0.586, 0.2637], [0.259, -0.5963, 9.815], [-4.4906617e-4, 0, 0]])
        #expect(parts.allSatisfy { $0.clock == .date && $0.rows.times == [1_518_819_953_744_000_000] })
    }

    @Test func linesOfHyperIMUMayHaveNoTimeAndOtherThings() throws {
        let plain = try samples("0.13322297,9.381591,0.8710387,0.36958146,-0.38709503,0.0040415954\r\n")
        #expect(plain.parts.map(\.stream) == ["sensor1", "sensor2"])
        #expect(plain.parts.allSatisfy { $0.clock == .arrival && $0.rows.times == [5] })
        let whole = try samples(
            "1518819953744,02:00:00:00:00:00,1,2,3,50.77,6.06,200,$GPGGA;1;2,$GPRMC;3,$GPVTG;4\r\n")
        #expect(whole.parts.map(\.rows.values) == [[1, 2, 3], [50.77, 6.06, 200]])
    }

    @Test func objectsOfHyperIMUAreRead() throws {
        let text =
            #"{"os":"hyperimu","Timestamp":1518819953744,"Accelerometer":[0.09279,0.148,9.8],"K330 3-axis Accelerometer":[1,2,3],"NMEA":["$GPGGA;1"],"GPS":[48.46910729,-123.31144137,41]}"#
        let parts = try samples(text).parts
        #expect(parts.map(\.stream) == ["accelerometer", "k3303AxisAccelerometer", "location"])
        #expect(parts.map(\.unit) == ["m/s2", nil, nil])
        #expect(parts[0].rows.values == [0.09279, 0.148, 9.8])
        #expect(parts[2].rows.fields == ["latitude", "longitude", "altitude"])
        #expect(parts.allSatisfy { $0.rows.times == [1_518_819_953_744_000_000] })
    }

    @Test func severalLinesOfADatagramAreOneMessage() throws {
        let lines = (0..<5).map { #"{"timestamp":\#($0),"values":[\#($0)],"type":"android.sensor.light"}"# }
        let samples = try samples(lines.joined(separator: "\n") + "\n")
        #expect(samples.parts.map(\.rows.values) == [[0, 1, 2, 3, 4]])
    }

    @Test(arguments: [
        "", "\n", "hello", "1,2", "1,2,x", "1,2,3,4", "nan,nan,nan", "{", "{}", "[]",
        #"{"type":"android.sensor.light"}"#,
        #"{"timestamp":1,"values":["NaN"],"type":"android.sensor.light"}"#,
        #"{"timestamp":-1,"values":[1],"type":"android.sensor.light"}"#,
        #"{"timestamp":1,"values":[1],"type":"../../etc"}"#, #"{"os":"hyperimu","Timestamp":1518819953744}"#,
        #"{"device":"../x","stream":"a","first":0,"samples":[[0,1]]}"#, String(repeating: "[", count: 60_000),
        String(repeating: #"{"a":"#, count: 10_000), String(repeating: "#", count: 60_000), "\u{0}\u{1}\u{FFFD}",
    ])
    func garbageIsNamedAndCounted(text: String) {
        let datagram = datagram(text)
        #expect(datagram.problem != nil || datagram.messages.isEmpty || text.contains("../../etc"))
        publisher.take(datagram)
        publisher.run(seconds: 2)
        if datagram.problem != nil {
            #expect(publisher.health["messages"]?.contains("from 192.168.1.7: ") == true)
            #expect(publisher.core.pushedMessages.refused == 1)
        }
        #expect(publisher.core.streams.isEmpty || text.contains("../../etc"))
        #expect(publisher.core.streams.allSatisfy { !$0.name.description.contains("..") })
    }

    @Test func bytesOfAnyKindAreHarmless() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<300 {
            let bytes = (0..<Int.random(in: 0..<200)).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            publisher.take(Datagram(bytes, from: "::1", at: 0))
        }
        #expect(publisher.core.streams.isEmpty)
    }

    // MARK: Delivery

    private let accelerometer = StreamName(device: "udp-192.168.1.7", stream: "accelerometer")

    private func event(_ number: Int, boot: Int64 = 3_925_657_000_000_000) -> String {
        let time = boot + Int64(number) * 20_000_000
        return #"{"timestamp":\#(time),"values":[\#(number),0,9.8],"type":"android.sensor.accelerometer"}"#
    }

    private func column(_ column: Int) -> [Double] {
        batches(accelerometer).flatMap { batch in (0..<batch.count).map { batch.rows[$0 * 4 + column] } }
    }

    /// Sends each event at its time, at 50 Hz.
    private func send(_ numbers: some Sequence<Int>, boot: Int64 = 3_925_657_000_000_000) {
        for number in numbers {
            take(event(number, boot: boot))
            publisher.run(seconds: 0.02)
        }
    }

    @Test func samplesHaveTheTimesOfThePhonePairedWithTheirArrival() throws {
        let begin = Double(publisher.now.monotonic) / 1e9
        send(0..<100)
        #expect(sequences(accelerometer) == Array(0..<100))
        let uptimes = column(0)
        for (number, uptime) in uptimes.enumerated() { #expect(abs(uptime - begin - Double(number) / 50) < 1e-6) }
        let description = try #require(publisher.heard[0].descriptions.last)
        #expect(description.unit == "m/s2")
        #expect(description.origin == .measured)
        #expect(description.rate == 50)
        #expect(description.description?.contains("estimated") == true)
    }

    @Test func whatIsMissingByItsTimesIsAGapOfAboutItsLength() throws {
        send(0..<60)
        send(70..<100)
        send(CollectionOfOne(101))
        let expected: [Int64] = Array(0..<60) + Array(70..<100) + [101]
        #expect(sequences(accelerometer) == expected)
        let error = #expect(throws: RequestError.self) {
            try publisher.replay(
                SamplesReplay(
                    device: accelerometer.device, stream: accelerometer.stream, epoch: "one", from: 60, count: 10))
        }
        #expect(error?.data?.reason == "estimated")
    }

    @Test func repeatedAndLateSamplesAreIgnored() {
        send(0..<40)
        take(event(39))
        take(event(20))
        #expect(sequences(accelerometer) == Array(0..<40))
        #expect(publisher.core.pushedMessages.repeated == 2)
    }

    /// A network that saves power holds datagrams back and sends them together, so they are read at the same time.
    @Test func samplesWithoutTimesAreAllNewAndPausesBetweenThemAreNoGaps() throws {
        let name = StreamName(device: "udp-192.168.1.7", stream: "sensor1")
        for number in 0..<40 {
            take("\(number),0,0")
            publisher.run(seconds: 0.01)
        }
        publisher.run(seconds: 0.2)
        for number in 40..<60 { take("\(number),0,0") }
        take((60..<80).map { "\($0),0,0" }.joined(separator: "\r\n"))
        #expect(sequences(name) == Array(0..<80))
        let values = batches(name).flatMap { batch in (0..<batch.count).map { batch.rows[$0 * 4 + 1] } }
        #expect(values == (0..<80).map(Double.init))
        let uptimes = batches(name).flatMap { batch in (0..<batch.count).map { batch.rows[$0 * 4] } }
        #expect(zip(uptimes, uptimes.dropFirst()).allSatisfy { $0 < $1 }, "each is later than the one before")
        #expect(publisher.core.pushedMessages.repeated == 0)
        let description = try #require(publisher.heard[0].descriptions.last)
        #expect(description.description?.hasSuffix("nothing tells what is lost") == true)
    }

    @Test func linesOfOneDatagramAreSorted() {
        take([3, 1, 2, 0].map { event($0) }.joined(separator: "\n"))
        #expect(sequences(accelerometer) == [0, 1, 2, 3])
        #expect(column(1) == [0, 1, 2, 3])
    }

    @Test func aStreamThatIsUnevenHasNoGaps() {
        var time: Int64 = 1
        var numbers = SplitMix(seed: 7)
        for number in 0..<200 {
            time += Int64(numbers.next() % 1_000_000_000)
            take(#"{"timestamp":\#(time),"values":[\#(number)],"type":"android.sensor.light"}"#)
        }
        let light = StreamName(device: "udp-192.168.1.7", stream: "light")
        #expect(sequences(light) == Array(0..<200))
    }

    @Test func aPhoneThatWasRestartedContinuesItsStream() {
        send(0..<40)
        send(0..<40, boot: 1_000_000_000)
        #expect(sequences(accelerometer) == Array(0..<80))
        let uptimes = column(0)
        #expect(uptimes == uptimes.sorted())
    }

    /// A broker may have kept the message.
    @Test func theTimeOfSendingOfAKeptMessageIsNotItsArrival() throws {
        let body = Array(#"{"device":"m5","stream":"value","first":0,"now":4,"samples":[[3,1]]}"#.utf8)
        for mayBeKept in [false, true] {
            let message = try PushMessage(unanswered: body, from: "mqtt-a", at: 5, mayBeKept: mayBeKept)
            guard case .numbered(let samples) = message else {
                Issue.record("\(message)")
                return
            }
            #expect(samples.sentAt == (mayBeKept ? nil : 4 * Self.second))
        }
    }

    @Test func numberedSamplesInDatagramsShowTheirLossExactly() throws {
        func numbered(_ range: Range<Int>) -> String {
            let rows = range.map { "[\(Double($0) / 50),\($0)]" }.joined(separator: ",")
            return
                #"{"device":"m5","stream":"value","epoch":"e","first":\#(range.lowerBound),"oldest":0,"samples":[\#(rows)]}"#
        }
        let name = StreamName(device: "m5", stream: "value")
        for range in [0..<10, 10..<20, 10..<20, 30..<40] { take(numbered(range)) }
        #expect(sequences(name) == Array(0..<20))
        publisher.run(seconds: 4)
        let expected: [Int64] = Array(0..<20) + Array(30..<40)
        #expect(sequences(name) == expected, "nobody can be asked for what is missing")
        let error = #expect(throws: RequestError.self) {
            try publisher.replay(SamplesReplay(device: "m5", stream: "value", epoch: "e@0", from: 20, count: 10))
        }
        #expect(error?.data?.reason == "notInSource")
        #expect(publisher.pushAnswers.isEmpty, "nobody waits for an answer")
    }

    @Test func oneAddressCanNotTakeAllStreams() throws {
        for number in 0..<10_000 {
            take(#"{"device":"d\#(number)","stream":"a","first":0,"samples":[[0,1]]}"#, from: "10.0.0.1")
        }
        #expect(publisher.core.streams.count == 256)
        publisher.run(seconds: 2)
        #expect(publisher.health["messages"]?.contains("one address may speak for 256 devices") == true)
        send(0..<3)
        #expect(sequences(accelerometer) == [0, 1, 2])
    }

    @Test func datagramsThatWaitAreBounded() {
        let padding = String(repeating: " ", count: 60_000)
        for number in 0..<400 {
            take(
                #"{"device":"d\#(number % 200)","stream":"a\#(number / 200)","first":0,"samples":[[0,1]]}"#)
            take(
                #"{"device":"d\#(number % 200)","stream":"a\#(number / 200)","first":9,"samples":[[0,1]]\#(padding)}"#)
        }
        #expect(publisher.core.pushedMessages.refused > 100)
        publisher.run(seconds: 6)
        #expect(publisher.health["messages"]?.contains("too many datagrams are waiting") == true)
        let name = StreamName(device: "d1", stream: "a0")
        #expect(sequences(name) == [0, 9])
    }

    @Test func aStreamOfAnotherKindIsNotTaken() {
        take(#"{"device":"udp-192.168.1.7","stream":"accelerometer","first":0,"samples":[[0,1,2,3]]}"#)
        send(0..<3)
        #expect(sequences(accelerometer) == [0])
        #expect(publisher.core.pushedMessages.refused == 3)
    }
}
