package import Encryption
import Files
import Glibc
import Recording
package import SystemPackage

/// Extracts an archive into a new directory, but only if its whole content matches its manifest.
package struct ArchiveExtraction {
    /// Extracts an archive.
    ///
    /// Writes to a hidden directory beside the target, and renames it at the end.
    /// - Parameters:
    ///   - directory: must not exist, or must be empty.
    ///   - key: decrypts the archive if it is encrypted.
    /// - Returns: the verified archive. If it has findings, nothing was extracted.
    /// - Throws: also `alreadyExists`, `noSpace`.
    package static func extract(
        _ archive: FilePath, to directory: FilePath, key: PrivateKey? = nil
    ) throws(ArchiveError) -> OpenedArchive {
        let parent = directory.removingLastComponent()
        guard let name = directory.lastComponent?.string, name != ".", name != ".." else {
            throw ArchiveError(.invalidParameter, "'\(directory)' is not a name for a new directory.")
        }
        let target = Directory(directory)
        if Directory(parent).contains(name) {
            let isEmpty = target.exists && ((try? target.names())?.isEmpty ?? false)
            guard isEmpty else {
                throw ArchiveError(
                    .alreadyExists, "\(directory) exists and is not empty: extract to another directory with --to.")
            }
        }
        let temporary = Directory(parent.appending(".\(name).\(getpid()).new"))
        var extraction = ArchiveExtraction(temporary)
        do throws(RecordingError) {
            try Directory(parent).create()
            try temporary.createExclusively()
        } catch {
            throw ArchiveError(error)
        }
        do throws(ArchiveError) {
            let opened = try extraction.run(archive, key: key)
            guard opened.findings.isEmpty else {
                extraction.discard()
                return opened
            }
            guard rename(temporary.path.string, directory.string) == 0 else {
                throw ArchiveError(RecordingError(Errno(rawValue: errno), action: "rename", path: temporary.path))
            }
            return opened
        } catch {
            extraction.discard()
            throw error
        }
    }

    private let directory: Directory
    private var names: [String] = []
    private var file: FileDescriptor?
    private var path: FilePath

    private init(_ directory: Directory) {
        self.directory = directory
        path = directory.path
    }

    private mutating func run(_ archive: FilePath, key: PrivateKey?) throws(ArchiveError) -> OpenedArchive {
        var extraction = self
        defer { self = extraction }
        let opened = try OpenedArchive(
            archive, key: key, begin: { name throws(ArchiveError) in try extraction.begin(name) },
            { bytes throws(ArchiveError) in try extraction.write(bytes) })
        extraction.close()
        return opened
    }

    /// Begins a file. Holdfast's archives have no directories, so a name with a path is rejected.
    private mutating func begin(_ name: String) throws(ArchiveError) {
        close()
        guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(UInt8(ascii: "/")), name.utf8.count <= 255
        else {
            throw ArchiveError(
                .damaged,
                "The archive has a file '\(name)', whose path leads elsewhere. Holdfast makes no such archives.")
        }
        path = directory.path.appending(name)
        do {
            file = try FileDescriptor.open(
                path, .writeOnly, options: [.create, .exclusiveCreate, .noFollow, .closeOnExec],
                permissions: .byFileMode)
        } catch {
            throw failure("create", error)
        }
        names.append(name)
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws(ArchiveError) {
        do {
            _ = try file?.writeAll(bytes)
        } catch {
            throw failure("write to", error)
        }
    }

    private mutating func close() {
        // A full disk already causes an error in the writes.
        try? file?.close()
        file = nil
    }

    private mutating func discard() {
        close()
        for name in names { try? Directory.removeFile(directory.path.appending(name)) }
        rmdir(directory.path.string)
    }

    private func failure(_ action: String, _ error: any Error) -> ArchiveError {
        let errno = error as? Errno ?? .ioError
        let code: ArchiveError.Code = [.noSpace, .diskQuotaExceeded].contains(errno) ? .noSpace : .inputOutput
        return ArchiveError(code, "Could not \(action) \(path): \(errno). Nothing was extracted.")
    }
}
