import Foundation
import FoundationXML
import MessageBus
import Messages
import PublisherCore
import SampleSources
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// The experiment that phyphox receives, and the requests that it sends.
@Suite(.timeLimit(.minutes(1)))
struct PhyphoxTests {
    private let context: Context
    private let thread: SocketThread

    init() throws {
        context = try Context()
        thread = try SocketThread(name: "test")
    }

    private func samples(_ body: String, device: String? = nil) throws(PublisherError) -> UnnumberedSamples {
        try UnnumberedSamples(phyphox: Array(body.utf8), device: device)
    }

    // MARK: Reading

    /// As org.json writes numbers on Android: without a point if there is no fraction, and with an exponent if large.
    @Test func arraysBecomeStreamsWithDates() throws {
        let body =
            #"{"device":"1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed","clock":{"now":1.764166261123E9,"events":[{"event":"START","experimentTime":0,"systemTime":1.764166250123E9},{"event":"PAUSE","experimentTime":5,"systemTime":1.764166255123E9},{"event":"START","experimentTime":5,"systemTime":1.764166260123E9}]},"accelerometer_t":[0.01,0.02,5.01],"accelerometer_x":[0.25,-1.0E-4,2],"accelerometer_y":[0,1,2],"gyroscope_time":[0.5,0.6],"gyroscope_x":[1,null]}"#
        let samples = try samples(body)
        #expect(samples.device == "phyphox-1b9d6bcdbbfd4b2d")
        #expect(samples.parts.map(\.stream) == ["accelerometer", "gyroscope"])
        let acceleration = samples.parts[0]
        #expect(acceleration.unit == "m/s2")
        #expect(acceleration.clock == .date)
        #expect(acceleration.rows.fields == ["x", "y"])
        #expect(acceleration.rows.values == [0.25, 0, -1e-4, 1, 2, 2])
        let dates: [Int64] = [1_764_166_250_133_000_000, 1_764_166_250_143_000_000, 1_764_166_260_133_000_000]
        for (time, date) in zip(acceleration.rows.times, dates) {
            #expect(abs(time - date) < 1_000, "a pause of five seconds is one")
        }
        #expect(samples.parts[1].rows.values == [1], "NaN is left out")
    }

    @Test func aClockThatNobodyHasIsNotBelieved() throws {
        let body =
            #"{"device":"a","acc_t":[-1223372030],"acc_x":[1],"clock":{"events":[{"event":"START","experimentTime":4000000000,"systemTime":-4000000000}]}}"#
        #expect(try samples(body).parts[0].rows.times == [-1_223_372_030_000_000_000])
    }

    @Test func experimentsOfOthersAreReadToo() throws {
        let samples = try samples(#"{"t":[0,1,2],"x":[5,6]}"#, device: "left-hand")
        #expect(samples.device == "left-hand")
        let part = try #require(samples.parts.first)
        #expect(part.stream == "samples")
        #expect(part.clock == .device)
        #expect(part.rows.times == [0, 1_000_000_000])
        #expect(part.rows.values == [5, 6])
    }

    @Test(arguments: [
        "{", "[]", #"{"device":"d","t":[0]}"#, #"{"device":"d","x":[0]}"#, #"{"t":[0],"x":[1]}"#,
        #"{"device":"d","t":["0"],"x":[1]}"#, #"{"device":"d","t":[0],"x":["1"]}"#,
        #"{"device":"d","t":[null],"x":[1]}"#,
        #"{"device":"d","../_t":[0],"../_x":[1]}"#, #"{"device":"d","t":[0],"uptime":[1]}"#,
        #"{"device":"d","clock":{"events":[{"event":1}]},"t":[0],"x":[1]}"#,
        #"{"device":"d","t":[0],"\#(String(repeating: "a", count: 257))":[1]}"#,
    ])
    func garbageIsRefused(body: String) {
        #expect(throws: PublisherError.self) { try samples(body) }
    }

    // MARK: Publishing

    @Test func requestsRepeatTheLastSecondsSoThatLostOnesCostNothing() throws {
        let publisher = try VirtualPublisher([], sources: [])
        publisher.begin()
        let name = StreamName(device: "left-hand", stream: "accelerometer")
        func request(_ range: Range<Int>) throws -> PushAnswer? {
            let start = 1_795_219_200.0
            let times = range.map { "\(Double($0) / 100)" }.joined(separator: ",")
            let values = range.map { "\($0)" }.joined(separator: ",")
            let body =
                #"{"clock":{"events":[{"event":"START","experimentTime":0,"systemTime":\#(start)}]},"accelerometer_t":[\#(times)],"accelerometer_x":[\#(values)]}"#
            let number = publisher.push(.unnumbered(try samples(body, device: "left-hand")))
            return publisher.pushAnswers[number]
        }
        func sequences() -> [Int64] {
            let batches =
                publisher.epochs[name]?.values.flatMap(\.self).sorted { $0.firstSequence < $1.firstSequence } ?? []
            return batches.flatMap { batch in (0..<batch.count).map { batch.firstSequence + Int64($0) } }
        }
        publisher.run(seconds: 2)
        #expect(try request(0..<200) == .accepted(next: nil))
        publisher.run(seconds: 10)
        // Four requests failed in between.
        #expect(try request(0..<1_200) == .accepted(next: nil))
        #expect(sequences() == Array(0..<1_200))
        // The experiment is paused: the same data repeats.
        for _ in 0..<3 {
            publisher.run(seconds: 100)
            #expect(try request(0..<1_200) == .accepted(next: nil))
        }
        #expect(sequences() == Array(0..<1_200))
        // More requests failed than the buffers hold.
        publisher.run(seconds: 20)
        #expect(try request(1_300..<1_400) == .accepted(next: nil))
        let expected: [Int64] = Array(0..<1_200) + Array(1_300..<1_400)
        #expect(sequences() == expected)
        let error = #expect(throws: RequestError.self) {
            try publisher.replay(
                SamplesReplay(device: name.device, stream: name.stream, epoch: "one", from: 1_200, count: 100))
        }
        #expect(error?.data?.reason == "estimated")
    }

    /// A sensor that reports only changes has old times in each request.
    @Test(arguments: [true, false])
    func aSensorThatIsStillMakesNoOtherOneRepeat(hasDates: Bool) throws {
        let publisher = try VirtualPublisher([], sources: [])
        publisher.begin()
        func samples(of stream: String) -> [Double] {
            let name = StreamName(device: "left-hand", stream: stream)
            let batches = publisher.epochs[name]?.values.flatMap(\.self) ?? []
            return batches.sorted { $0.firstSequence < $1.firstSequence }.flatMap { batch in
                (0..<batch.count).map { batch.rows[$0 * 2 + 1] }
            }
        }
        let clock = #""clock":{"events":[{"event":"START","experimentTime":0,"systemTime":1795219200}]},"#
        for end in stride(from: 200, through: 10_000, by: 200) {
            let range = max(0, end - 1_200)..<end
            let times = range.map { "\(Double($0) / 100)" }.joined(separator: ",")
            let values = range.map { "\($0)" }.joined(separator: ",")
            let body =
                "{\(hasDates ? clock : "")\"accelerometer_t\":[\(times)],\"accelerometer_x\":[\(values)],"
                + #""light_t":[0.5,1.5],"light_x":[7,8]}"#
            let number = publisher.push(.unnumbered(try self.samples(body, device: "left-hand")))
            #expect(publisher.pushAnswers[number] == .accepted(next: nil))
            publisher.run(seconds: 2)
        }
        #expect(samples(of: "accelerometer") == (0..<10_000).map(Double.init))
        #expect(samples(of: "light") == [7, 8])
    }

    // MARK: The real program

    /// Runs the program with a free port for phyphox while a closure runs.
    private func serving(
        _ arguments: [String] = [], _ body: (ProgramUnderTest, RequestClient, UInt16) async throws -> Void
    ) async throws {
        let all = ProgramUnderTest.anyPorts + ["--listen-http", "0"] + arguments
        try await ProgramUnderTest.run("sensor-publisher", arguments: all) { program in
            let line = try await program.line("where to push") { $0.contains("devices push to ") }
            let port = try #require(UInt16(line.split(separator: ":").last?.prefix { $0.isNumber } ?? ""))
            let ready = try await program.ready()
            try await body(program, RequestClient(context: context, thread: thread, endpoint: ready.reply), port)
        }
    }

    private func body(of answer: String) -> String {
        answer.firstRange(of: "\r\n\r\n").map { String(answer[$0.upperBound...]) } ?? ""
    }

    @Test func theExperimentHasTheAddressThatThePhoneAskedFor() async throws {
        try await serving { program, client, port in
            let link = try await program.line("the link") { $0.contains("phyphox is a sensor while") }
            #expect(link.hasSuffix("phyphox://127.0.0.1:\(port)/phyphox"))
            let request = "GET /phyphox?device=left-hand HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n"
            let answer = try #require(try await WebClient.answer(request, port: port))
            #expect(answer.hasPrefix("HTTP/1.1 200 "))
            let experiment = try Experiment(body(of: answer))
            #expect(experiment.address == "http://localhost:\(port)/phyphox?device=left-hand")
            #expect(experiment.service == "http/post")
            // The data to send, and their sources.
            #expect(experiment.sent["device"] == "uniqueID")
            #expect(experiment.sent["clock"] == "")
            let buffers = Set(experiment.buffers)
            #expect(buffers.count == 12)
            #expect(Set(experiment.sent.values.filter { $0.contains("_") }) == buffers)
            #expect(Set(experiment.outputs) == buffers)
            #expect(experiment.kept == buffers)

            // A request of NetworkService.java, as Android's HttpURLConnection sends it.
            let json =
                #"{"device":"1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed","clock":{"now":1.764166261123E9,"events":[{"event":"START","experimentTime":0,"systemTime":1.764166250123E9}]},"accelerometer_t":[0.012034501,0.022041303],"accelerometer_x":[0.31892395,-1.0E-4],"accelerometer_y":[0,1],"accelerometer_z":[9.81,9.79],"userAcceleration_t":[],"userAcceleration_x":[],"userAcceleration_y":[],"userAcceleration_z":[],"gyroscope_t":[0.015],"gyroscope_x":[0.5],"gyroscope_y":[0.25],"gyroscope_z":[0.125]}"#
            let post = """
                POST /phyphox?device=left-hand HTTP/1.1\r
                Content-Type: application/json; utf-8\r
                Accept: application/json\r
                User-Agent: Dalvik/2.1.0 (Linux; U; Android 14; Pixel 7 Build/AP2A.240805.005)\r
                Host: localhost:\(port)\r
                Connection: Keep-Alive\r
                Accept-Encoding: gzip\r
                Content-Length: \(json.utf8.count)\r
                \r
                \(json)
                """
            for _ in 0..<2 {
                let peer = try WebClient(port: port)
                try await peer.send(post)
                let answer = try await peer.text("an answer") { $0.contains("\r\n\r\n{") }
                #expect(answer.hasPrefix("HTTP/1.1 200 "))
            }
            let streams = try await client.send(StreamsList(), timeout: .seconds(50)).streams
            #expect(streams.map(\.name.description).sorted() == ["left-hand/accelerometer", "left-hand/gyroscope"])
            #expect(streams.map(\.nextSequence).sorted() == [1, 2], "the second request repeats the first")
        }
    }

    @Test func theExperimentHasTheTokenAndNeedsIt() async throws {
        try await withTemporaryDirectory { directory in
            let identity = directory.appending("identity").string
            try await serving(["--http-identity", identity]) { program, _, port in
                let line = try await program.line("the link") { $0.contains("phyphox is a sensor while") }
                let token = try #require(line.split(separator: "=").last)
                func get(_ path: String) async throws -> String {
                    try await Tool.output(
                        of: "curl",
                        ["--silent", "--cacert", "\(identity)/certificate.pem", "https://localhost:\(port)\(path)"])
                }
                #expect(try await get("/phyphox").contains("notAllowed"))
                let experiment = try Experiment(try await get("/phyphox?token=\(token)"))
                #expect(experiment.address == "https://localhost:\(port)/phyphox?token=\(token)")
                #expect(try await get("/phyphox?token=\(token)&device=../x").contains("is not a name"))
            }
        }
    }
}

/// A `.phyphox` file, read by an XML parser.
private final class Experiment: NSObject, XMLParserDelegate {
    private(set) var address = ""
    private(set) var service = ""
    private(set) var buffers: [String] = []
    private(set) var outputs: [String] = []
    /// The sources of the sent data, by name.
    private(set) var sent: [String: String] = [:]
    /// Buffers that are not emptied when they are sent.
    private(set) var kept: Set<String> = []
    private var path: [String] = []
    private var attributes: [String: String] = [:]
    private var text = ""

    init(_ file: String) throws {
        super.init()
        let parser = XMLParser(data: Data(file.utf8))
        parser.delegate = self
        guard parser.parse(), path.isEmpty else {
            throw TestFailure("not XML: \(parser.parserError.map { "\($0)" } ?? "") \(file.prefix(500))")
        }
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        path.append(name)
        self.attributes = attributes
        text = ""
        guard name == "connection" else { return }
        address = attributes["address"] ?? ""
        service = attributes["service"] ?? ""
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }

    func parser(
        _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
    ) {
        switch path {
        case ["phyphox", "data-containers", "container"]: buffers.append(text)
        case ["phyphox", "input", "sensor", "output"]: outputs.append(text)
        case ["phyphox", "network", "connection", "send"]:
            sent[attributes["id"] ?? ""] = text
            if attributes["keep"] == "true" { kept.insert(text) }
        default: break
        }
        path.removeLast()
        text = ""
    }
}
