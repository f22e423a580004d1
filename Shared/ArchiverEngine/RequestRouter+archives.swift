import MessageBus
import Messages

extension RequestRouter {
    init(_ engine: ArchiveEngine) {
        self.init()
        on(ArchiveCreate.self) { try await engine.create($0) }
        on(ArchiveStatusRequest.self) { try await engine.status($0) }
        on(ArchiveRetry.self) { try await engine.retry($0) }
        on(ArchiveList.self) { try await engine.list($0) }
    }
}
