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
            return DataLock([try lock(".lock", in: recordings, .own) { inUse(data, by: "recorder", $0) }])
        }
        let common = try lock(".lock", in: recordings, .shared) { process in
            inUse(data, by: "recorder", kind: " without a shard", process)
        }
        let own = try lock(".lock\(shard.fileSuffix)", in: recordings, .own) { process in
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
        return DataLock([try lock(".lock", in: directory, .own) { inUse(data, by: program, $0) }])
    }

    private enum Kind {
        case own, shared
    }

    /// - Parameter refusal: the error, from the process that has the lock, where the file names one.
    private static func lock(
        _ name: String, in directory: Directory, _ kind: Kind, refusal: (Int?) -> RecordingError
    ) throws(RecordingError) -> OpenFile {
        try directory.create()
        let path = directory.path.appending(name)
        while true {
            let file = try OpenFile(
                path, .readWrite, options: .create, permissions: [.ownerReadWrite, .groupRead, .otherRead],
                action: "open")
            do throws(Errno) {
                try SystemCall.repeating { () throws(Errno) in
                    try SystemCall.check(flock(file.descriptor.rawValue, (kind == .own ? LOCK_EX : LOCK_SH) | LOCK_NB))
                }
            } catch {
                if error == .wouldBlock { throw refusal(process(in: file)) }
                throw RecordingError(error, action: "lock", path: path)
            }
            // Somebody may have removed the file before it was locked; then the lock keeps nobody out.
            guard file.isFile(at: path) else { continue }
            try SystemCall.perform("write to", path) { ftruncate(file.descriptor.rawValue, 0) }
            if kind == .shared { return file }
            do {
                _ = try file.descriptor.writeAll(toAbsoluteOffset: 0, "\(getpid())\n".utf8)
            } catch {
                throw RecordingError(error as? Errno ?? .ioError, action: "write to", path: path)
            }
            return file
        }
    }

    /// The process that a lock's file names.
    private static func process(in file: OpenFile) -> Int? {
        var text: [UInt8] = []
        try? file.forEachPiece(in: 0..<20) { text += $0 }
        return Int(String(decoding: text, as: UTF8.self).filter { $0 != "\n" })
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
