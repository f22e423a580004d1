import LogManagerCore
import LogStorage
import Messages
import Recording
import Runtime

/// Requests answered from the current state of the catalog and the disk.
extension LogEngine {
    var thresholds: LogThresholds { catalog.thresholds }

    func names() async -> LogsNames.Reply {
        await lookAtCurrentLogs()
        return core.names
    }

    func configuration(_ request: LogsGet) async throws(RequestError) -> LogConfiguration {
        // A recorder requests the configuration of logs that it begins: whether they have files makes no difference.
        if request.orDefaults != true { await lookAtCurrentLogs() }
        return try core.configuration(request)
    }

    func set(_ request: LogsSet) async throws -> LogConfiguration {
        await lookAtCurrentLogs()
        return try await answer { $0.set(request, at: $1) }
    }

    private func lookAtCurrentLogs() async {
        let (sessions, date) = (catalog.openSessions, now.date)
        core.currentLogs = Set(await diskReader.run { $0.current(of: sessions, at: date) }.keys)
    }

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
        let room = await room(of: catalog.openSessions)
        return LogsUsage.Reply(
            pendingUploadBytes: usage.pendingBytes, totalBytes: usage.totalBytes,
            currentBytes: room.current.values.reduce(0, +), freeBytes: room.freeBytes ?? 0,
            logs: logs.map { LogsUsage.adding(room.current.map { ($0.key.text, $0.value) }, to: $0) },
            otherBytes: room.otherBytes + core.remainingBytes)
    }

    /// Bytes of the files being written in some sessions by log, bytes of their other contents and of the write-ahead log, and
    /// bytes free on the disk.
    private func room(
        of sessions: [SessionIdentifier]
    ) async -> (current: [LogName: Int], otherBytes: Int, freeBytes: Int?) {
        let date = now.date
        return await diskReader.run {
            let current = $0.current(of: sessions, at: date)
            return (
                current: current, otherBytes: $0.otherBytes(of: sessions, besides: current), freeBytes: $0.freeBytes()
            )
        }
    }
}
