import Files
import MessageBus
import Messages
import Recording

extension RequestRouter {
    /// The methods of the archiver.
    init(_ engine: ArchiveEngine) {
        self.init()
        answer(ArchiveCreate.self) { try await engine.create($0) }
        answer(ArchiveStatusRequest.self) { try await engine.status($0) }
        answer(ArchiveRetry.self) { try await engine.retry($0) }
        answer(ArchiveList.self) { try await engine.list($0) }
    }

    /// Answers a method, and says in the words of the wire why something could not be done.
    private mutating func answer<Params: Request>(
        _ type: Params.Type, _ body: @escaping @Sendable (Params) async throws -> Params.Reply
    ) {
        on(type) { request in
            do {
                return try await body(request)
            } catch let error as RecordingError {
                let reason: RequestError.Reason =
                    switch error.code {
                    case .invalidParameter: .invalidParameter
                    case .noSpace: .noSpace
                    default: .inputOutput
                    }
                throw RequestError(reason, error.description)
            }
        }
    }
}
