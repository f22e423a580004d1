import Export
import Files
import FoundationEssentials
import Glibc
import Messages
import Recording
import ServiceKit
import SystemPackage
import WebServer

/// Exports sessions for download in the formats of analysis tools. Confined to one thread: one export at a time, since each reads
/// a whole session and needs as much temporary space.
final class SessionExporter {
    /// An unlinked file; its space is freed when it is closed.
    struct Download: Sendable {
        let file: WebFile
        let count: Int
        /// The suggested file name.
        let name: String
    }

    /// The file of a finished export; nil once it is closed.
    private struct Finished {
        weak let file: WebFile?
    }

    /// Limit of finished exports that are being downloaded: each keeps its space, however slowly its client reads.
    static let maximumDownloads = 4

    private static let prefix = "holdfast-export-"

    private let library: SessionLibrary
    /// The directory for temporary files.
    private let temporary: Directory
    /// Bytes that an export leaves free on the disk for temporary files.
    private let reserve: Int
    private var finished: [Finished] = []

    init(
        in data: FilePath, temporary: FilePath = FilePath(FileManager.default.temporaryDirectory.path),
        reserve: Int = 64 << 20
    ) {
        library = SessionLibrary(in: data)
        self.temporary = Directory(temporary)
        self.reserve = reserve
        removeLeftovers()
    }

    /// Removes exports that killed consoles left: no program holds the claim on them.
    private func removeLeftovers() {
        for file in (try? temporary.names()) ?? [] {
            guard let name = DirectoryLock.name(ofFile: file), name.hasPrefix(Self.prefix),
                let claim = try? DirectoryLock.take(name, in: temporary)
            else { continue }
            let place = temporary.path.appending(name)
            // Other users can create files here too.
            if let status = try? place.stat(followTargetSymlink: false), status.userID.rawValue == geteuid() {
                try? Directory.removeTree(place)
            }
            withExtendedLifetime(claim) {}
        }
    }

    /// Exports a session.
    /// - Parameter stream: the only stream; nil for all.
    /// - Returns: nil if too many exports are being downloaded.
    /// - Throws: `unreadable` if the session is damaged; `notFound` if it has no such stream; `noSpace`.
    func export(
        _ session: String, as format: SessionExport.Format, stream: StreamName?
    ) throws(RecordingError) -> Download? {
        finished.removeAll { $0.file == nil }
        guard finished.count < Self.maximumDownloads else { return nil }
        let directory = try library.directory(of: session)
        try checkSpace(for: directory, stream)
        var options = SessionExport.Options(format: format, clock: format.usualClock)
        options.streams = stream.map { [$0.description] }
        let exportName = "\(Self.prefix)\(UUID())"
        let claim = try DirectoryLock.take(exportName, in: temporary)
        let place = temporary.path.appending(exportName)
        // The open file stays readable after its name is removed.
        defer {
            try? Directory.removeTree(place)
            withExtendedLifetime(claim) {}
        }
        let outcome = try SessionExport(directory, options, version: Version.current).run(to: place) { _, _, _ in }
        // A CSV export also has a table of gaps and others, an MCAP export also the ROS 2 file.
        let names = outcome.files.filter { $0.hasSuffix(".\(format.rawValue)") }
        guard let name = names.min(by: { $0.utf8.count < $1.utf8.count }) else {
            throw RecordingError(
                .notFound, action: "export", path: directory.directory.path, reason: "it has no file of this format",
                advice: "Choose a stream that the session has.")
        }
        do {
            let opened = try FileDescriptor.open(place.appending(name), .readOnly, options: [.closeOnExec, .noFollow])
            let file = WebFile(opened)
            let count = Int(try opened.seek(offset: 0, from: .end))
            finished.append(Finished(file: file))
            // Downloads of several people may end up in one directory, so the name includes the path.
            return Download(file: file, count: count, name: String(name.map { $0 == "/" ? "_" : $0 }))
        } catch {
            throw RecordingError(
                .inputOutput, action: "read", path: place.appending(name), errno: error as? Errno,
                advice: "Free some space for temporary files, and export again.")
        }
    }

    /// - Throws: `noSpace` if an export as large as the session, or as the stream's files, would not leave the reserve free.
    private func checkSpace(for session: SessionDirectory, _ stream: StreamName?) throws(RecordingError) {
        let bytes =
            if let stream {
                try session.record().logs.filter { $0.device == stream.device && $0.stream == stream.stream }
                    .flatMap(\.files).reduce(0) { $0.addingClamped($1.bytes) }
            } else {
                try session.directory.names().reduce(0) { $0 + session.size(of: $1) }
            }
        let free = try temporary.freeBytes()
        guard free < bytes.addingClamped(reserve) else { return }
        throw RecordingError(
            .noSpace, action: "export", path: session.directory.path,
            reason: "it takes \(ByteCount(bytes: bytes)), and \(temporary.path) has only "
                + "\(ByteCount(bytes: free)) free",
            advice: "Free some space there, or restart the console with TMPDIR on a larger disk.")
    }
}
