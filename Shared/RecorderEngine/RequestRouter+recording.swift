import Files
import MessageBus
import Messages
import Recording

extension RequestRouter {
    init(_ engine: RecordingEngine) {
        self.init()
        on(RecordingStart.self) { request in try await refusing { try await engine.start(request) } }
        on(RecordingMoveTo.self) { request in try await refusing { try await engine.move(request) } }
        on(RecordingExtend.self) { request in try await refusing { try await engine.extend(request) } }
        on(RecordingKeep.self) { request in try await refusing { try await engine.keep(request) } }
        on(RecordingPause.self) { request in try await refusing { try await engine.pause(request) } }
        on(RecordingResume.self) { request in try await refusing { try await engine.resume(request) } }
        on(RecordingCancel.self) { request in try await refusing { try await engine.cancel(request) } }
        on(RecordingStop.self) { request in try await refusing { try await engine.stop(request) } }
        on(RecordingStatus.self) { request in try await refusing { try await engine.status(request) } }
        on(RecordingPlan.self) { request in try await refusing { try await engine.plan(request) } }
        on(RecordingResultRequest.self) { request in try await refusing { try await engine.result(request) } }
        on(LogsFinish.self) { request in try await refusing { try await engine.finishFiles(request) } }
        on(RecordingSetResults.self) { request in try await refusing { try await engine.setResults(request) } }
        onWithBytes(RecordingAddFile.self) { request, bytes in
            try await refusing { try await engine.addFile(request, bytes) }
        }
        on(RecordingAnnotate.self) { request in try await refusing { try await engine.annotate(request) } }
        on(RecordingDiscard.self) { request in try await refusing { try await engine.discard(request) } }
        on(RecordingList.self) { request in try await refusing { try await engine.list(request) } }
    }
}

/// Says in the words of the wire why a recording could not do what was asked.
private func refusing<Reply>(_ body: () async throws -> Reply) async throws -> Reply {
    do {
        return try await body()
    } catch let error as RecordingError {
        let reason: RequestError.Reason =
            switch error.code {
            case .alreadyRunning: .alreadyRunning
            case .finished, .alreadyExists: .finished
            case .invalidParameter: .invalidParameter
            case .notFound: .unknownSession
            case .noSpace: .noSpace
            default: .inputOutput
            }
        throw RequestError(reason, error.description)
    }
}
