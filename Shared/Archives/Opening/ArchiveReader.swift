import CArchive
package import Encryption
import Glibc
package import SystemPackage

/// Reads the files of a zip one after the other, as they come, by libarchive: in memory that does not grow with them.
///
/// Confined to one thread.
package final class ArchiveReader {
    /// What libarchive reads from, and why it could not.
    private final class Source {
        let bytes: any ArchiveBytes
        var error: ArchiveError?

        init(_ bytes: any ArchiveBytes) {
            self.bytes = bytes
        }

        /// What stands behind the last file is not needed, but whether an encrypted archive is what was made is known at its
        /// end only.
        func readToEnd() throws(ArchiveError) {
            if let error { throw error }
            while try !bytes.next().isEmpty {}
        }
    }

    private let archive: OpaquePointer
    /// Nil for a zip of somebody else, which libarchive opens itself.
    private let source: Source?
    /// For messages.
    private let name: String
    /// Names are UTF-8 whatever the user's language: libarchive looks at the thread's.
    private let locale: locale_t?
    private let oldLocale: locale_t?

    /// - Parameter name: how messages call the archive.
    init(_ bytes: any ArchiveBytes, name: String) throws(ArchiveError) {
        guard let archive = archive_read_new() else { preconditionFailure("there is no memory left") }
        self.archive = archive
        self.name = name
        let source = Source(bytes)
        self.source = source
        locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil)
        oldLocale = locale.map { uselocale($0) }
        archive_read_support_format_zip_streamable(archive)
        let result = archive_read_open2(
            archive, Unmanaged.passUnretained(source).toOpaque(), nil,
            { _, context, piece in
                guard let context else { return -1 }
                let source = Unmanaged<Source>.fromOpaque(context).takeUnretainedValue()
                do throws(ArchiveError) {
                    let bytes = try source.bytes.next()
                    piece?.pointee = bytes.baseAddress
                    return bytes.count
                } catch {
                    source.error = error
                    return -1
                }
            }, nil, nil)
        guard result == ARCHIVE_OK else { throw failure() }
    }

    /// Opens a zip that another program wrote. What is not a file in it is passed over.
    /// - Throws: `damaged` if it is no zip.
    package init(zip path: FilePath) throws(ArchiveError) {
        guard let archive = archive_read_new() else { preconditionFailure("there is no memory left") }
        self.archive = archive
        name = path.string
        source = nil
        locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil)
        oldLocale = locale.map { uselocale($0) }
        archive_read_support_format_zip(archive)
        guard archive_read_open_filename(archive, path.string, 1 << 16) == ARCHIVE_OK else { throw failure() }
    }

    deinit {
        archive_read_free(archive)
        if let locale {
            uselocale(oldLocale)
            freelocale(locale)
        }
    }

    /// Goes on to the next file.
    /// - Returns: its name; `nil` at the archive's end.
    /// - Throws: `damaged` if the archive is not one of files alone.
    package func next() throws(ArchiveError) -> String? {
        while true {
            if let name = try nextEntry() { return name.isEmpty ? nil : name }
        }
    }

    /// - Returns: an empty name at the archive's end; nil for what is passed over.
    private func nextEntry() throws(ArchiveError) -> String? {
        var entry: OpaquePointer?
        switch archive_read_next_header(archive, &entry) {
        case ARCHIVE_EOF:
            try source?.readToEnd()
            return ""
        case ARCHIVE_OK, ARCHIVE_WARN: break
        default: throw failure()
        }
        guard let entry, let name = archive_entry_pathname(entry).map({ String(cString: $0) }),
            archive_entry_filetype(entry) == S_IFREG, archive_entry_hardlink(entry) == nil
        else {
            if source == nil { return nil }
            throw ArchiveError(
                .damaged, "\(self.name) has something in it that is not a file. No archive of ours has that.")
        }
        return name
    }

    /// The current file's next bytes, which are there until the next call; none at its end. Its checksum was right then.
    package func read() throws(ArchiveError) -> UnsafeRawBufferPointer {
        var bytes: UnsafeRawPointer?
        var count = 0
        var offset: la_int64_t = 0
        while true {
            switch archive_read_data_block(archive, &bytes, &count, &offset) {
            case ARCHIVE_OK where count == 0: continue
            case ARCHIVE_OK: return UnsafeRawBufferPointer(start: bytes, count: count)
            case ARCHIVE_EOF: return UnsafeRawBufferPointer(start: nil, count: 0)
            default: throw failure()
            }
        }
    }

    private func failure() -> ArchiveError {
        // Bytes that make no sense are what a wrong key gives, too: the archive's end tells.
        do throws(ArchiveError) {
            try source?.readToEnd()
        } catch {
            return error
        }
        let reason = archive_error_string(archive).map { String(cString: $0) } ?? "it is not a zip"
        if source == nil { return ArchiveError(.damaged, "its zip can't be read: \(reason)") }
        return ArchiveError(
            .damaged, "\(name) can't be read: \(reason). It is not an archive, or not what was made: get it again.")
    }
}
