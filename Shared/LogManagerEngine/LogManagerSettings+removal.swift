import Logging
import LogManagerCore
package import Messages
import Runtime
import ServiceKit
package import SystemPackage

extension LogManagerSettings {
    /// The files of a data directory that a clean-up would remove now.
    /// - Throws: `ServiceError` if a log-manager runs there, or the directory can't be read.
    package func filesToRemove(in data: FilePath) async throws -> [LogFileEntry] {
        try await RunningService.opening {
            let engine = try LogEngine(
                settings: self, data: data,
                Runtime(events: nil, health: Health(), logger: Logger(label: Program.logManager.rawValue)),
                listener: nil)
            try await engine.begin()
            return try await engine.removalCandidates().map(\.entry)
        }
    }
}
