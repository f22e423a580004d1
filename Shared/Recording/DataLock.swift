import Glibc
package import SystemPackage

/// Keeps other recorders out of a data directory as long as it lives: a lock of flock(2) on `recordings/.lock`.
///
/// The system takes it back when the program ends, however it ends. The file stays, and has the process that holds it.
package final class DataLock: Sendable {
    private let file: OpenFile

    private init(_ file: OpenFile) {
        self.file = file
    }

    /// Takes the lock, and makes the directory where it is missing.
    ///
    /// - Parameter data: the data directory.
    /// - Throws: `locked` while another program, or another lock of this one, has it.
    package static func acquire(in data: FilePath) throws(RecordingError) -> DataLock {
        let recordings = SessionDirectory.recordings(in: data)
        try recordings.create()
        let path = recordings.path.appending(".lock")
        while true {
            let file = try OpenFile(
                path, .readWrite, options: .create, permissions: [.ownerReadWrite, .groupRead, .otherRead],
                action: "open")
            do throws(Errno) {
                try SystemCall.repeating { () throws(Errno) in
                    try SystemCall.check(flock(file.descriptor.rawValue, LOCK_EX | LOCK_NB))
                }
            } catch {
                throw error == .wouldBlock ? inUse(data, by: file) : RecordingError(error, action: "lock", path: path)
            }
            // Somebody may have removed the file before it was locked; then the lock keeps nobody out.
            guard file.isFile(at: path) else { continue }
            try SystemCall.perform("write to", path) { ftruncate(file.descriptor.rawValue, 0) }
            do {
                _ = try file.descriptor.writeAll(toAbsoluteOffset: 0, "\(getpid())\n".utf8)
            } catch {
                throw RecordingError(error as? Errno ?? .ioError, action: "write to", path: path)
            }
            return DataLock(file)
        }
    }

    private static func inUse(_ data: FilePath, by file: OpenFile) -> RecordingError {
        var text: [UInt8] = []
        try? file.forEachPiece(in: 0..<20) { text += $0 }
        let process = Int(String(decoding: text, as: UTF8.self).filter { $0 != "\n" })
        return RecordingError(
            .locked, action: "use data directory", path: data,
            reason: "a recorder uses it" + (process.map { " (process \($0))" } ?? ""),
            advice: "Stop that recorder, or choose another data directory.")
    }
}
