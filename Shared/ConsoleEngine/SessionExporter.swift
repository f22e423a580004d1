import Export
import Files
import FoundationEssentials
import Messages
import Recording
import ServiceKit
import SystemPackage

/// Exports sessions for download in the formats of analysis tools. Confined to one thread: one export at a time, since each reads
/// a whole session and needs as much temporary space.
final class SessionExporter {
    /// An unlinked file; its space is freed when it is closed.
    struct Download: Sendable {
        let file: FileDescriptor
        let count: Int
        /// The suggested file name.
        let name: String
    }

    private let library: SessionLibrary

    init(in data: FilePath) { library = SessionLibrary(in: data) }

    /// Exports a session.
    /// - Parameter stream: the only stream; nil for all.
    /// - Throws: `unreadable` if the session is damaged; `notFound` if it has no such stream; `noSpace`.
    func export(
        _ session: String, as format: SessionExport.Format, stream: StreamName?
    ) throws(RecordingError) -> Download {
        let directory = try library.directory(of: session)
        var options = SessionExport.Options(format: format, clock: format.usualClock)
        options.streams = stream.map { [$0.description] }
        let place = FilePath(FileManager.default.temporaryDirectory.path).appending("holdfast-export-\(UUID())")
        // The open file stays readable after its name is removed.
        defer { try? Directory.removeTree(place) }
        let outcome = try SessionExport(directory, options, version: Version.current).run(to: place) { _, _, _ in }
        // A CSV export also has a table of gaps and others, an MCAP export also the ROS 2 file.
        let names = outcome.files.filter { $0.hasSuffix(".\(format.rawValue)") }
        guard let name = names.min(by: { $0.utf8.count < $1.utf8.count }) else {
            throw RecordingError(
                .notFound, action: "export", path: directory.directory.path, reason: "it has no file of this format",
                advice: "Choose a stream that the session has.")
        }
        do {
            let file = try FileDescriptor.open(place.appending(name), .readOnly, options: [.closeOnExec, .noFollow])
            return Download(
                file: file, count: Int(try file.seek(offset: 0, from: .end)),
                // Downloads of several people may end up in one directory, so the name includes the path.
                name: String(name.map { $0 == "/" ? "_" : $0 }))
        } catch {
            throw RecordingError(
                .inputOutput, action: "read", path: place.appending(name), errno: error as? Errno,
                advice: "Free some space for temporary files, and export again.")
        }
    }
}
