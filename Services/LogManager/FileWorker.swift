import Files
import LogManagerCore
import LogStorage
import Messages
import Recording
import ZeroMQ

/// Does what takes long with files: lists directories, removes files and waits for the disk, while requests are answered.
actor FileWorker {
    private let folder: DataDirectory
    private let thread: SocketThread

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init(folder: DataDirectory) throws {
        self.folder = folder
        thread = try SocketThread(name: "files")
    }

    func sessions() -> Result<StreamFiles.SessionList, RecordingError> {
        Result { () throws(RecordingError) in
            let sessions = try folder.sessions()
            return StreamFiles.SessionList(sessions: sessions, hasRecordings: !sessions.isEmpty || folder.hasRecordings)
        }
    }

    func content(of session: SessionIdentifier) throws(RecordingError) -> DataDirectory.Content {
        try folder.content(of: session)
    }

    func look(up paths: [String]) -> [PathLook] {
        paths.map { PathLook(path: $0, outcome: folder.look(up: $0)) }
    }

    func carryOut(_ step: RemovalStep, for files: [CatalogFile]) -> [Int64: RemovalFailure] {
        folder.carryOut(step, for: files)
    }

    /// Bytes of the files that are being written, and bytes free on the disk.
    func room(of sessions: [SessionIdentifier]) -> (currentBytes: Int, freeBytes: Int?) {
        (folder.currentBytes(of: sessions, at: .now), folder.freeBytes())
    }
}
