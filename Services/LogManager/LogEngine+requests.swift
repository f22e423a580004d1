import LogManagerCore
import LogStorage
import Messages
import Recording
import Runtime

/// What is answered from the catalog and the disk as they are.
extension LogEngine {
    var thresholds: LogThresholds { catalog.thresholds }

    var names: LogsNames.Reply { core.names }

    func configuration(_ request: LogsGet) throws(RequestError) -> LogConfiguration { try core.configuration(request) }

    func files(of name: String?, isUploaded: Bool?, after: String?, limit: Int?) throws(RequestError) -> LogFileList {
        defer { perform() }
        return try core.files(of: name, isUploaded: isUploaded, after: after, limit: limit, at: now)
    }

    func usage(_ request: LogsUsage) async throws(RequestError) -> LogsUsage.Reply {
        let usage = catalog.usage
        let logs: [LogsUsage.Log]?
        do {
            logs = try request.logs == true ? catalog.usagePerLog() : nil
        } catch {
            defer { perform() }
            throw core.refusal(of: error, at: now)
        }
        let (currentBytes, freeBytes) = await room(of: catalog.openSessions)
        return LogsUsage.Reply(
            pendingUploadBytes: usage.pendingBytes, totalBytes: usage.totalBytes, currentBytes: currentBytes,
            freeBytes: freeBytes ?? 0, logs: logs)
    }

    /// Bytes of the files that are being written, and bytes free on the disk.
    private func room(of sessions: [SessionIdentifier]) async -> (currentBytes: Int, freeBytes: Int?) {
        let date = now.date
        return await diskReader.run { ($0.currentBytes(of: sessions, at: date), $0.freeBytes()) }
    }
}
