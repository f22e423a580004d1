import Glibc
package import SystemPackage

/// Keeps other programs of its kind out of a data directory as long as it lives: locks of flock(2) on `.lock` in the
/// directory that is the program's own.
///
/// The system takes them back when the program ends, however it ends. The files stay, and say which process has them.
///
/// Recorders may split a data directory: one without a shard has `recordings/.lock` for itself, one with a shard shares
/// it with others of its kind and has `recordings/.lock-2-of-3` for itself.
package final class DataLock: Sendable {
    private let files: [OpenFile]

    private init(_ files: [OpenFile]) {
        self.files = files
    }

    /// Takes a recorder's lock, and makes the directory where it is missing.
    ///
    /// - Parameter data: the data directory.
    /// - Throws: `locked` while another program, or another lock of this one, has it.
    package static func acquire(in data: FilePath, shard: Shard? = nil) throws(RecordingError) -> DataLock {
        let recordings = SessionDirectory.recordings(in: data)
        guard let shard else {
            return DataLock([try lock(".lock", in: recordings) { inUse(data, by: "recorder", $0) }])
        }
        let common = try lock(".lock", in: recordings, isShared: true) { process in
            inUse(data, by: "recorder", kind: " without a shard", process)
        }
        let own = try lock(".lock\(shard.fileSuffix)", in: recordings) { process in
            inUse(data, by: "recorder", kind: " with shard \(shard)", process)
        }
        return DataLock([common, own])
    }

    /// Takes the lock of a program that shares its directory with nobody, and makes the directory where it is missing.
    ///
    /// - Parameters:
    ///   - data: the data directory.
    ///   - directory: the program's own directory in there.
    ///   - program: its name, for the error.
    /// - Throws: `locked` while another program, or another lock of this one, has it.
    package static func acquire(
        in data: FilePath, directory: String, for program: String
    ) throws(RecordingError) -> DataLock {
        let directory = Directory(data.appending(directory))
        return DataLock([try lock(".lock", in: directory) { inUse(data, by: program, $0) }])
    }

    /// - Parameter refusal: the error, from the process that has the lock, where the file names one.
    private static func lock(
        _ name: String, in directory: Directory, isShared: Bool = false, refusal: (Int?) -> RecordingError
    ) throws(RecordingError) -> OpenFile {
        try directory.create()
        guard let file = try OpenFile.lock(directory.path.appending(name), isShared: isShared) else {
            let text = String(decoding: (try? directory.read(name)) ?? [], as: UTF8.self)
            throw refusal(Int(text.filter { $0 != "\n" }))
        }
        try file.resize(to: 0)
        if !isShared { try file.write(Array("\(getpid())\n".utf8), at: 0) }
        return file
    }

    private static func inUse(
        _ data: FilePath, by program: String, kind: String = "", _ process: Int?
    ) -> RecordingError {
        RecordingError(
            .locked, action: "use data directory", path: data,
            reason: "a \(program)\(kind) uses it" + (process.map { " (process \($0))" } ?? ""),
            advice: "Stop that \(program), or choose another data directory.")
    }
}
