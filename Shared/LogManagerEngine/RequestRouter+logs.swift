import LogManagerCore
import MessageBus
import Messages
import ServiceKit

extension RequestRouter {
    init(_ engine: LogEngine) {
        self.init()
        on(LogsAdd.self) { request in try await engine.answer { $0.add(request, at: $1) } }
        on(LogsSet.self) { try await engine.set($0) }
        on(LogsFinish.self) { _ in
            throw RequestError(
                .unsupported, "the recorder that writes a log finishes its files: send logs.finish to it")
        }
        on(LogsRemove.self) { request in try await engine.answer { $0.remove(request, at: $1) } }
        on(LogsNames.self) { _ in await engine.names() }
        on(LogsGet.self) { try await engine.configuration($0) }
        on(LogsList.self) { request in
            try await engine.files(
                of: request.name, isUploaded: request.uploaded, after: request.after, limit: request.limit)
        }
        on(LogsNeedingUpload.self) { request in
            try await engine.files(of: request.name, isUploaded: false, after: request.after, limit: request.limit)
        }
        on(LogsMarkUploaded.self) { request in try await engine.answer { $0.mark(request, at: $1) } }
        on(LogsUnmarkUploaded.self) { request in try await engine.answer { $0.unmark(request, at: $1) } }
        on(LogsRemoveUploaded.self) { request in try await engine.answer { $0.removeUploaded(request, at: $1) } }
        on(LogsRemoveOldAndUploaded.self) { request in
            try await engine.answer { $0.removeOldAndUploaded(request, at: $1) }
        }
        on(LogsThresholds.self) { _ in await engine.thresholds }
        on(LogsSetThresholds.self) { request in try await engine.answer { $0.setThresholds(request, at: $1) } }
        on(LogsUsage.self) { try await engine.usage($0) }
    }
}
