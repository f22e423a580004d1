import MessageBus
import Messages
import Recording

extension RequestRouter {
    /// The methods of log-manager.
    init(_ engine: LogEngine) {
        self.init()
        answer(LogsAdd.self) { try await engine.add($0) }
        answer(LogsRemove.self) { try await engine.remove($0) }
        answer(LogsNames.self) { _ in await engine.names() }
        answer(LogsGet.self) { try await engine.configuration($0) }
        answer(LogsList.self) { request in
            try await engine.files(of: request.name, pendingOnly: false, after: request.after, limit: request.limit)
        }
        answer(LogsNeedingUpload.self) { request in
            try await engine.files(of: request.name, pendingOnly: true, after: request.after, limit: request.limit)
        }
        answer(LogsMarkUploaded.self) { try await engine.mark($0) }
        answer(LogsUnmarkUploaded.self) { try await engine.unmark($0) }
        answer(LogsRemoveUploaded.self) { try await engine.removeUploaded($0) }
        answer(LogsRemoveOldAndUploaded.self) { try await engine.removeOldAndUploaded($0) }
        answer(LogsThresholds.self) { _ in await engine.thresholds }
        answer(LogsSetThresholds.self) { try await engine.setThresholds($0) }
        answer(LogsUsage.self) { try await engine.usage($0) }
    }

    /// Answers a method, and says in the words of the wire why something could not be done.
    private mutating func answer<Params: Request>(
        _ type: Params.Type, _ body: @escaping @Sendable (Params) async throws -> Params.Reply
    ) {
        on(type) { request in
            do {
                return try await body(request)
            } catch let error as RecordingError {
                throw RequestError(refusing: error)
            }
        }
    }
}

extension RequestError {
    /// A refusal that comes from the catalog or the disk.
    fileprivate init(refusing error: RecordingError) {
        let reason: Reason =
            switch error.code {
            case .invalidParameter: .invalidParameter
            case .noSpace: .noSpace
            default: .inputOutput
            }
        self.init(reason, error.description)
    }
}
