import MessageBus
import Messages
import ServiceKit
import ZeroMQ

/// Passes the page's requests on to the programs that answer them. As on the bus, parameters are parsed and the role that a
/// method needs is checked before anything is sent.
struct BusMethods: Sendable {
    /// How long a program may take to reply: stopping a recording waits for the disk.
    private static let limit = Duration.seconds(15)

    private var router = RequestRouter()
    private let programs: ConsolePrograms

    init(_ programs: ConsolePrograms) {
        self.programs = programs
        let publisher = programs.publisher
        pass(StreamsList.self, to: publisher)
        pass(StreamsStart.self, to: publisher)
        pass(StreamsStop.self, to: publisher)
        pass(PhonesLink.self, to: publisher)
        let recorder = programs.recorder
        pass(RecordingStart.self, to: recorder)
        pass(RecordingMoveTo.self, to: recorder)
        pass(RecordingPause.self, to: recorder)
        pass(RecordingResume.self, to: recorder)
        pass(RecordingCancel.self, to: recorder)
        pass(RecordingStop.self, to: recorder)
        pass(RecordingStatus.self, to: recorder)
        pass(RecordingResultRequest.self, to: recorder)
        pass(RecordingList.self, to: recorder)
        pass(RecordingDiscard.self, to: recorder)
        pass(RecordingSetResults.self, to: recorder)
        pass(RecordingAnnotate.self, to: recorder)
        let stepCounter = programs.stepCounter
        pass(StepsIsAvailable.self, to: stepCounter)
        pass(StepsStartUpdates.self, to: stepCounter)
        pass(StepsStopUpdates.self, to: stepCounter)
        pass(StepsSubscriptions.self, to: stepCounter)
        pass(StepsQuery.self, to: stepCounter)
        let logManager = programs.logManager
        pass(LogsNames.self, to: logManager)
        pass(LogsGet.self, to: logManager)
        pass(LogsList.self, to: logManager)
        pass(LogsUsage.self, to: logManager)
        pass(LogsThresholds.self, to: logManager)
        pass(LogsRemove.self, to: logManager)
        pass(LogsRemoveUploaded.self, to: logManager)
        let archiver = programs.archiver
        pass(ArchiveCreate.self, to: archiver)
        pass(ArchiveStatusRequest.self, to: archiver)
        pass(ArchiveRetry.self, to: archiver)
        pass(ArchiveList.self, to: archiver)
    }

    private mutating func pass<Params: Request>(_ type: Params.Type, to client: RequestClient) {
        router.on(type) { request in
            do {
                return try await client.send(request, timeout: Self.limit)
            } catch let error as ZeroMQError where error.code == .timedOut {
                throw RequestError(.timedOut, "there was no answer at \(client.endpoint): is its program running?")
            }
        }
    }

    /// The running sessions according to the recorder; none if it does not reply.
    func runningSessions() async -> [String] { await programs.runningSessions(within: Self.limit) ?? [] }

    /// Sends a request.
    /// - Parameters:
    ///   - method: the method's name on the bus, such as `recording.start`.
    ///   - params: a JSON object; empty for `{}`.
    /// - Throws: `RequestError` if the request is refused.
    func ask(_ method: String, _ params: [UInt8], as role: Role) async throws -> JSONValue {
        guard router.methods.contains(method) else {
            throw RequestError.unknownMethod("the methods are \(router.methods.joined(separator: ", "))")
        }
        let params = params.isEmpty ? Array("{}".utf8) : params
        // Text that is not valid JSON could inject more than parameters into the request.
        guard params.withUnsafeBytes({ JSONScanner.isValid($0) }) else {
            throw RequestError.notJSON("the parameters are not JSON")
        }
        let request = Array(#"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":"#.utf8) + params + Array("}".utf8)
        let reply = try WireCoding.decode(
            ReplyEnvelope<JSONValue>.self, from: await router.answer([request], as: role).first ?? [])
        if let error = reply.error { throw error }
        return reply.result ?? .null
    }
}
