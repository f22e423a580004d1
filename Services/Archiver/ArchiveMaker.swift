import ArchiveStorage
import Archives
import Encryption
import Files
import Messages
import Recording
import ZeroMQ

/// Makes archives on a thread of its own, one after the other.
actor ArchiveMaker {
    private let archiver: SessionArchiver
    private let folder: ArchiveDirectory
    private let thread: SocketThread

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init(_ archiver: SessionArchiver, _ folder: ArchiveDirectory) throws(ZeroMQError) {
        self.archiver = archiver
        self.folder = folder
        thread = try SocketThread(name: "archiving")
    }

    /// Makes the archives of a session, and says what is in them. Cancelling the task ends it soon.
    func make(_ session: SessionIdentifier) throws(ArchiveError) -> ArchiveRecord {
        let directory: SessionDirectory
        let logs: [LogName]
        do throws(RecordingError) {
            directory = try SessionDirectory.open(session, in: folder.data)
            logs = try directory.record().logs.map(\.name)
        } catch {
            throw ArchiveError(error)
        }
        return ArchiveRecord(
            session, made: try archiver.archive(directory, to: folder.directory), logs: logs, date: .now)
    }
}
