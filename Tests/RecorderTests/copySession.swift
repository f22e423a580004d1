import Files
import FoundationEssentials
import Messages
import Recording
import SystemPackage
import TestSupport

/// Copies a session during the recording, while nothing arrives: the state that a killed recorder would leave, in a separate data
/// directory.
func copySession(_ session: String, of recorder: RecorderUnderTest, to data: FilePath) async throws {
    let directory = try recorder.directory(session).directory
    let target = data.appending("recordings").appending(session)
    func state() throws -> [String: Data] {
        let names = try directory.names().filter { !$0.hasPrefix(".") }
        return try Dictionary(
            uniqueKeysWithValues: names.map { name in
                (name, try Data(contentsOf: URL(filePath: directory.path.appending(name).string)))
            })
    }
    // Reads again if anything changes during the copy.
    let files = try await eventualValue("the files of one moment") {
        // Copies only what the log's files and session.json include, so the session must be stored with its logs.
        guard try recorder.directory(session).record().status != .starting, let files = try? state(),
            let again = try? state(), files == again
        else { return [String: Data]?.none }
        return files
    }
    try FileManager.default.createDirectory(atPath: target.string, withIntermediateDirectories: true)
    for (name, bytes) in files { try bytes.write(to: URL(filePath: target.appending(name).string)) }
}
