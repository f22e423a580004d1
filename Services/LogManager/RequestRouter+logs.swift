import Files
import MessageBus
import Messages
import Recording

extension RequestRouter {
    /// The methods of log-manager.
    init(_ engine: LogEngine) {
        self.init()
        answer(LogsAdd.self, by: engine) { try await engine.add($0) }
        answer(LogsRemove.self, by: engine) { try await engine.remove($0) }
        answer(LogsNames.self, by: engine) { _ in await engine.names() }
        answer(LogsGet.self, by: engine) { try await engine.configuration($0) }
        answer(LogsList.self, by: engine) { request in
            try await engine.files(of: request.name, pendingOnly: false, after: request.after, limit: request.limit)
        }
        answer(LogsNeedingUpload.self, by: engine) { request in
            try await engine.files(of: request.name, pendingOnly: true, after: request.after, limit: request.limit)
        }
        answer(LogsMarkUploaded.self, by: engine) { try await engine.mark($0) }
        answer(LogsUnmarkUploaded.self, by: engine) { try await engine.unmark($0) }
        answer(LogsRemoveUploaded.self, by: engine) { try await engine.removeUploaded($0) }
        answer(LogsRemoveOldAndUploaded.self, by: engine) { try await engine.removeOldAndUploaded($0) }
        answer(LogsThresholds.self, by: engine) { _ in await engine.thresholds }
        answer(LogsSetThresholds.self, by: engine) { try await engine.setThresholds($0) }
        answer(LogsUsage.self, by: engine) { try await engine.usage($0) }
    }

    /// Answers a method, and says in the words of the wire why something could not be done.
    private mutating func answer<Params: Request>(
        _ type: Params.Type, by engine: LogEngine,
        _ body: @escaping @Sendable (Params) async throws -> Params.Reply
    ) {
        on(type) { request in
            do {
                return try await body(request)
            } catch let error as RecordingError {
                // A parameter is the asker's mistake; anything else is trouble with the catalog or the disk.
                if error.code != .invalidParameter { await engine.noteCatalogFailure(error) }
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
