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

    /// The sessions that are there.
    func sessions() throws -> [SessionIdentifier] { try folder.sessions() }

    /// What a session has.
    func content(of session: SessionIdentifier) throws -> DataDirectory.Content { try folder.content(of: session) }

    /// Bytes of the files that are being written, and bytes free on the disk.
    func look(at sessions: [SessionIdentifier]) -> (currentBytes: Int, freeBytes: Int?) {
        (folder.currentBytes(of: sessions), folder.freeBytes())
    }

    /// Removes files: says so in their sessions' directories, unlinks them, and waits until that would survive a power
    /// cut.
    /// - Returns: each file, and why it is still there, if it is.
    func remove(
        _ files: [CatalogFile], reason: RemovalReason, date: WallTime
    ) -> [(file: CatalogFile, refusal: String?)] {
        var refusals: [Int64: String] = [:]
        for (session, files) in Dictionary(grouping: files, by: \.session).sorted(by: { $0.key < $1.key }) {
            for (file, refusal) in folder.remove(files, of: session, reason: reason, date: date) {
                refusals[file.id] = refusal
            }
        }
        return files.map { ($0, refusals[$0.id]) }
    }
}
