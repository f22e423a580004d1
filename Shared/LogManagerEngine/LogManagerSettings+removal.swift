import Logging
import LogManagerCore
package import Messages
import Recording
import Runtime
import ServiceKit
package import SystemPackage

extension LogManagerSettings {
    /// The files of a data directory that a clean-up would remove now, and the directories of sessions that it would
    /// remove after them, with their bytes. Paths are relative to the data directory.
    /// - Throws: `ServiceError` if a log-manager runs there, or the directory can't be read.
    package func removalPreview(
        in data: FilePath
    ) async throws -> (files: [LogFileEntry], directories: [(path: String, bytes: Int)]) {
        try await RunningService.opening {
            let engine = try LogEngine(
                settings: self, data: data,
                Runtime(events: nil, health: Health(), logger: Logger(label: Program.logManager.rawValue)),
                listener: nil)
            try await engine.begin()
            let (files, sessions) = try await engine.removalPreview()
            let directories = sessions.map { session, bytes in
                (path: "\(SessionDirectory.recordingsName)/\(session)", bytes: bytes)
            }
            return (files: files.map(\.entry), directories: directories)
        }
    }
}
