package import Files
import Glibc
package import SystemPackage

/// Keeps other programs of the same kind out of a data directory as long as this value exists: locks of flock(2) on `.lock` in
/// the program's own directory.
///
/// The system releases the locks when the program ends, however it ends. The files stay, and state which process has the locks.
///
/// Recorders may split a data directory. A recorder without a shard has `recordings/.lock` for itself. A recorder with a shard
/// shares it with other such recorders, and has `recordings/.lock-2-of-3` for itself.
package struct DataLock: Sendable {
    private let files: [OpenFile]

    /// Takes a recorder's lock, and makes the directory if it is missing.
    ///
    /// - Throws: `locked` while another program, or another lock of this one, has it.
    package static func acquire(in data: FilePath, shard: Shard? = nil) throws(RecordingError) -> DataLock {
        let recordings = SessionDirectory.recordings(in: data)
        func take(_ name: String, isShared: Bool = false, kind: String) throws(RecordingError) -> OpenFile {
            try lock(name, in: recordings, isShared: isShared, of: data, program: "recorder", kind: kind)
        }
        guard let shard else { return DataLock(files: [try take(".lock", kind: "")]) }
        let common = try take(".lock", isShared: true, kind: " without a shard")
        return DataLock(files: [common, try take(".lock\(shard.fileSuffix)", kind: " with shard \(shard)")])
    }

    /// Takes the lock of a program that shares its directory with no other, and makes the directory if it is missing.
    ///
    ///   - directory: the program's own directory in the data directory.
    /// - Throws: `locked` while another program, or another lock of this one, has it.
    package static func acquire(
        in data: FilePath, directory: String, for program: String
    ) throws(RecordingError) -> DataLock {
        let directory = Directory(data.appending(directory))
        return DataLock(files: [try lock(".lock", in: directory, of: data, program: program)])
    }

    /// - Parameter kind: for the error, the difference between the program that has the lock and others of its name.
    private static func lock(
        _ name: String, in directory: Directory, isShared: Bool = false, of data: FilePath, program: String,
        kind: String = ""
    ) throws(RecordingError) -> OpenFile {
        try directory.create()
        guard let file = try OpenFile.lock(directory.path.appending(name), isShared: isShared) else {
            let text = String(decoding: (try? directory.read(name)) ?? [], as: UTF8.self)
            let process = Int(text.filter { $0 != "\n" }).map { " (process \($0))" } ?? ""
            throw RecordingError(
                .locked, action: "use data directory", path: data, reason: "a \(program)\(kind) uses it\(process)",
                advice: "Stop that \(program), or choose another data directory.")
        }
        try file.resize(to: 0)
        if !isShared { try file.write(Array("\(getpid())\n".utf8), at: 0) }
        return file
    }
}
