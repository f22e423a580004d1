import Files
import Glibc
import LogManagerCore
import Messages
import Recording
import SystemPackage

/// A session's open directory. Its files are reached through it, and symbolic links are never followed.
final class SessionListing {
    let session: SessionIdentifier
    private let descriptor: DirectoryDescriptor

    init(session: SessionIdentifier, descriptor: DirectoryDescriptor) {
        self.session = session
        self.descriptor = descriptor
    }

    /// The result of a look at a log file's name.
    enum FileLook {
        /// A regular file, and its number of hard links.
        case file(FileIdentity, names: Int)
        case gone
        /// Something else has this name.
        case other(Refusal)
        /// The look failed.
        case unknown(Errno)
    }

    func look(at name: UnsafePointer<CChar>) -> FileLook {
        let status: stat
        do {
            guard let found = try descriptor.status(of: name) else { return .gone }
            status = found
        } catch {
            return .unknown(error)
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return .file(FileIdentity(status), names: Int(status.st_nlink))
        case S_IFLNK: return .other(Refusal("it is a symbolic link; its target is not touched"))
        default: return .other(Refusal("it is not a file"))
        }
    }

    /// The regular file of a finished file's name; `nil` if there is certainly none.
    func find(_ name: FinishedName) throws(Errno) -> ScannedFile? {
        switch look(at: name.description) {
        case .gone, .other: return nil
        case .unknown(let errno): throw errno
        case .file(let identity, _):
            return ScannedFile(
                session: session, name: name, identity: identity, finished: name.moment(modified: identity.modified),
                sha256: nil, isFinished: true)
        }
    }

    /// The identity of a file without further hard links.
    /// - Returns: `nil` if the file does not exist.
    /// - Throws: `Refusal` if the file must not be touched.
    func identity(of name: FinishedName) throws(Refusal) -> FileIdentity? {
        switch look(at: name.description) {
        case .gone: return nil
        case .other(let refusal): throw refusal
        case .unknown(let errno): throw Refusal("it can't be looked at: \(errno)")
        case .file(let identity, let names):
            guard names == 1 else {
                throw Refusal(
                    "it has \(names) names (hard links), so it may be somebody else's too; if a `recorder fill` was "
                        + "killed, start the recorder, which removes what it left")
            }
            return identity
        }
    }

    /// Checks that a file is the one that was catalogued.
    /// - Returns: whether the file exists.
    /// - Throws: `Refusal` if the file must not be touched.
    func check(_ file: CatalogFile) throws(Refusal) -> Bool {
        guard let identity = try identity(of: file.name) else { return false }
        guard identity == file.identity else {
            throw Refusal("it was changed or replaced since log-manager saw it finished")
        }
        return true
    }

    /// Removes a file that was just checked.
    func remove(_ file: CatalogFile) throws(Refusal) {
        do throws(Errno) {
            try descriptor.remove(file.name.description)
        } catch {
            if error != .noSuchFileOrDirectory { throw Refusal("it can't be removed: \(error)") }
        }
    }

    /// Waits until removals would survive a power failure.
    func sync() throws(Errno) { try descriptor.sync() }

    /// When an entry was last added or removed, in nanoseconds since 1970.
    func entriesChanged() throws(Errno) -> Int64 { FileIdentity(try descriptor.status()).modified }

    /// The directory, for code that takes a path.
    var directory: Directory { Directory(FilePath("/proc/self/fd/\(descriptor.number)")) }

    /// Whether files named after a log are stream files. The log may be missing in the record: the disk may have refused the part
    /// that lists it.
    private static func isStream(_ log: LogName, among logs: Set<LogName>) -> Bool {
        LogName.mayBeStream(log.text) || logs.contains(log)
    }

    /// Calls `body` for each file with the name of a finished one, in no order.
    /// - Parameter logs: those in the session's record.
    func forEachFinished(of logs: Set<LogName>, _ body: (FinishedName, FileIdentity) -> Void) throws(Errno) {
        var reader = FinishedNameReader()
        try descriptor.forEachName { name throws(Errno) in
            let bytes = UnsafeRawBufferPointer(start: name, count: strlen(name))
            guard let finished = reader.read(bytes), Self.isStream(finished.log, among: logs) else { return }
            switch look(at: name) {
            case .file(let identity, _): body(finished, identity)
            case .gone, .other: break
            case .unknown(let errno): throw errno
            }
        }
    }

    /// The names of files being written: `<log>.<extension>`.
    /// - Parameter logs: those in the session's record, if it was read.
    func currentNames(of logs: Set<LogName> = []) throws(Errno) -> [String] {
        var reader = FinishedNameReader()
        var names: [String] = []
        try descriptor.forEachName { name in
            let bytes = UnsafeRawBufferPointer(start: name, count: strlen(name))
            guard reader.read(bytes) == nil, let dot = bytes.lastIndex(of: UInt8(ascii: ".")) else { return }
            let stem = String(decoding: bytes[..<dot], as: UTF8.self)
            let format = String(decoding: bytes[(dot + 1)...], as: UTF8.self)
            if LogFormat(rawValue: format) != nil, let log = LogName(existing: stem), Self.isStream(log, among: logs) {
                names.append(String(decoding: bytes, as: UTF8.self))
            }
        }
        return names
    }

    /// Bytes of everything but finished stream files, including subdirectories.
    /// - Parameter logs: those in the session's record, if it was read.
    func otherBytes(besides logs: Set<LogName> = []) throws(Errno) -> Int {
        var reader = FinishedNameReader()
        return try descriptor.bytes { name in
            let finished = reader.read(UnsafeRawBufferPointer(start: name, count: strlen(name)))
            return finished.map { !Self.isStream($0.log, among: logs) } ?? true
        }
    }

    /// Reads `session.json`.
    /// - Throws: `Refusal` if it can't be read.
    func record() throws(Refusal) -> SessionRecord {
        do {
            return try WireCoding.decode(SessionRecord.self, from: try descriptor.read(SessionDirectory.recordName))
        } catch {
            throw Refusal("\(SessionDirectory.recordName) can't be read: \(error)")
        }
    }
}
