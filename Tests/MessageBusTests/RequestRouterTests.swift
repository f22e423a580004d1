import MessageBus
import Messages
import Testing

/// Every request gets an answer, and errors say what to do.
@Suite(.timeLimit(.minutes(1)))
struct RequestRouterTests {
    private let router: RequestRouter = {
        var router = RequestRouter()
        router.on(StreamsStop.self) { request in
            throw RequestError(.unknownStream, "there is no stream \(request.stream)")
        }
        router.on(RecordingList.self) { _ in RecordingList.Reply(recordings: []) }
        router.onWithFrames(SamplesReplay.self) { request in
            (SamplesReplay.Reply(from: request.from, count: 0, first: 0, last: -1), [[1], [2]])
        }
        router.onWithBytes(RecordingAddFile.self) { request, bytes in
            RecordingAddFile.Reply(session: request.session, name: request.name, bytes: bytes.count)
        }
        return router
    }()

    @Test(arguments: [
        ("", -32700), ("{", -32700), ("hello", -32700), ("{\"jsonrpc\":\"2.0\",}", -32700),
        ("1", -32600), ("[]", -32600), ("{}", -32600), (#"{"jsonrpc":"2.0","id":1}"#, -32600),
        (#"{"jsonrpc":"1.0","id":1,"method":"recording.list"}"#, -32600),
        (#"{"jsonrpc":2,"id":1,"method":"recording.list"}"#, -32600),
        (#"{"jsonrpc":"2.0","id":1,"method":"recording.destroy"}"#, -32601),
        (#"{"jsonrpc":"2.0","id":1,"method":"streams.stop"}"#, -32602),
        (#"{"jsonrpc":"2.0","id":1,"method":"streams.stop","params":{"stream":5}}"#, -32602),
        (#"{"jsonrpc":"2.0","id":1,"method":"streams.stop","params":{"stream":"a"}}"#, -32602),
        (#"{"jsonrpc":"2.0","id":1,"method":"streams.stop","params":["a/b"]}"#, -32602),
        (#"{"jsonrpc":"2.0","id":1,"method":"streams.stop","params":{"stream":"a/b"}}"#, 3),
    ])
    func aBadRequestGetsItsCode(request: String, code: Int) async throws {
        let reply = try await answer(to: request)
        #expect(reply.error?.code == code)
        #expect(reply.error?.message.isEmpty == false)
    }

    @Test(arguments: [(nil, 19), (.listen, 19), (.command, 3), (.delete, 3)] as [(Role?, Int)])
    func aRequestIsAnsweredAsFarAsTheRoleAllows(role: Role?, code: Int) async throws {
        let request = #"{"jsonrpc":"2.0","id":4,"method":"streams.stop","params":{"stream":"a/b"}}"#
        let frames = await router.answer([Array(request.utf8)], as: role)
        let reply = try WireCoding.decode(ReplyEnvelope<Empty>.self, from: frames[0])
        #expect(reply.id == .integer(4))
        #expect(reply.error?.code == code)
        if code == 19 {
            #expect(reply.error?.data?.reason == "notAllowed")
            #expect(reply.error?.message.contains("streams.stop needs the role command") == true)
        }
    }

    @Test func aKeyThatIsOffTheListIsAnsweredNothing() async throws {
        let request = #"{"jsonrpc":"2.0","id":4,"method":"recording.list"}"#
        let refused = await router.answer([Array(request.utf8)], as: nil)
        #expect(try WireCoding.decode(ReplyEnvelope<Empty>.self, from: refused[0]).error?.code == 19)
        let listening = await router.answer([Array(request.utf8)], as: .listen)
        #expect(try WireCoding.decode(ReplyEnvelope<RecordingList.Reply>.self, from: listening[0]).result != nil)
    }

    @Test func bytesComeInASecondFrame() async throws {
        let request = Array(
            #"{"jsonrpc":"2.0","id":4,"method":"recording.addFile","params":{"session":"s","name":"a"}}"#.utf8)
        let reply = try WireCoding.decode(
            ReplyEnvelope<RecordingAddFile.Reply>.self, from: await router.answer([request, [0xFF, 0, 1]])[0])
        #expect(reply.result?.bytes == 3)
        let list = Array(#"{"jsonrpc":"2.0","id":4,"method":"recording.list"}"#.utf8)
        for frames in [[request], [request, [], []], [list, [1]]] {
            let refusal = try WireCoding.decode(ReplyEnvelope<Empty>.self, from: await router.answer(frames)[0])
            #expect(refusal.error?.code == -32600)
        }
    }

    @Test func bytesThatAreNoTextAreRefused() async throws {
        let frames = await router.answer([[0xFF, 0xFE, 0x00, 0x80]])
        let reply = try WireCoding.decode(ReplyEnvelope<Empty>.self, from: frames[0])
        #expect(reply.error?.code == -32700)
        #expect(reply.id == .null)
    }

    @Test func aRefusalSaysWhatToDo() async throws {
        let unknown = try await answer(to: #"{"jsonrpc":"2.0","id":"x","method":"no"}"#)
        #expect(unknown.id == .text("x"))
        let methods = "recording.addFile, recording.list, samples.replay, streams.stop"
        #expect(unknown.error?.message == "there is no method 'no'; the methods are \(methods)")
        let wrong = try await answer(
            to:
                #"{"jsonrpc":"2.0","id":1.5,"method":"samples.replay","params":{"device":"a","stream":"b","epoch":"c","from":"x","count":1}}"#
        )
        #expect(wrong.id == .number(1.5))
        #expect(wrong.error?.message == "samples.replay: 'params.from' must be a whole number")
        let missing = try await answer(to: #"{"jsonrpc":"2.0","id":1,"method":"streams.stop","params":{}}"#)
        #expect(missing.error?.message == "streams.stop: 'params.stream' is missing")
    }

    @Test func aRequestOfSeveralFramesIsRefused() async throws {
        let frames = await router.answer([Array("{}".utf8), []])
        let reply = try WireCoding.decode(ReplyEnvelope<Empty>.self, from: frames[0])
        #expect(reply.error?.code == -32600)
    }

    @Test func anOversizedRequestIsRefusedUnread() async throws {
        let frames = await router.answer([[UInt8](repeating: UInt8(ascii: "["), count: 1 << 20 + 1)])
        let reply = try WireCoding.decode(ReplyEnvelope<Empty>.self, from: frames[0])
        #expect(reply.error?.code == -32600)
        #expect(reply.error?.message == "the request has 1048577 bytes; at most 1048576 are read")
    }

    @Test func deepNestingIsRefused() async throws {
        let deep = String(repeating: "[", count: 100_000)
        #expect(try await answer(to: deep).error?.code == -32700)
    }

    @Test func whoAsksForTooMuchIsTold() async throws {
        let stop = Array(#"{"jsonrpc":"2.0","id":1,"method":"streams.stop","params":{"stream":"a/b"}}"#.utf8)
        for role in [Role.listen, nil] {
            var refusals: [RequestError] = []
            let frames = await router.answer([stop], as: role) { refusals.append($0) }
            let reply = try WireCoding.decode(ReplyEnvelope<Empty>.self, from: frames[0])
            #expect(reply.error?.data?.reason == "notAllowed")
            #expect(refusals.map(\.message) == [reply.error?.message])
        }
        _ = await router.answer([stop], as: .command) { Issue.record("\($0)") }
        _ = await router.answer([Array("{}".utf8)], as: nil) { Issue.record("\($0)") }
    }

    @Test func aReplyMayBringFrames() async throws {
        let request = SamplesReplay(device: "a", stream: "b", epoch: "c", from: 5, count: 1)
        let frames = await router.answer([try WireCoding.encode(RequestEnvelope(id: .integer(9), params: request))])
        #expect(frames.count == 3)
        let reply = try WireCoding.decode(ReplyEnvelope<SamplesReplay.Reply>.self, from: frames[0])
        #expect(reply.id == .integer(9))
        #expect(reply.result?.from == 5)
        #expect(Array(frames[1...]) == [[1], [2]])
    }

    @Test func aRequestWithoutAnIdentifierIsAnsweredWithNull() async throws {
        let frames = await router.answer([Array(#"{"jsonrpc":"2.0","method":"recording.list"}"#.utf8)])
        #expect(
            String(decoding: frames[0], as: UTF8.self) == #"{"id":null,"jsonrpc":"2.0","result":{"recordings":[]}}"#)
    }

    private func answer(to request: String) async throws -> ReplyEnvelope<Empty> {
        let frames = await router.answer([Array(request.utf8)])
        return try WireCoding.decode(ReplyEnvelope<Empty>.self, from: frames[0])
    }
}
