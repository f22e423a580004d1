import MessageBus
import Messages

extension RequestRouter {
    init(_ engine: RecordingEngine) {
        self.init()
        on(RecordingStart.self) { try await engine.start($0) }
        on(RecordingMoveTo.self) { try await engine.move($0) }
        on(RecordingExtend.self) { try await engine.extend($0) }
        on(RecordingKeep.self) { try await engine.keep($0) }
        on(RecordingPause.self) { try await engine.pause($0) }
        on(RecordingResume.self) { try await engine.resume($0) }
        on(RecordingCancel.self) { try await engine.cancel($0) }
        on(RecordingStop.self) { try await engine.stop($0) }
        on(RecordingStatus.self) { try await engine.status($0) }
        on(RecordingPlan.self) { try await engine.plan($0) }
        on(RecordingResultRequest.self) { try await engine.result($0) }
        on(LogsFinish.self) { try await engine.finishFiles($0) }
        on(RecordingSetResults.self) { try await engine.setResults($0) }
        onWithBytes(RecordingAddFile.self) { try await engine.addFile($0, $1) }
        on(RecordingAnnotate.self) { try await engine.annotate($0) }
        on(RecordingDiscard.self) { try await engine.discard($0) }
        on(RecordingList.self) { try await engine.list($0) }
    }
}
