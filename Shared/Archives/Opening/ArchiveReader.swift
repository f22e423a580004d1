import CArchive
package import Encryption
import Glibc
package import SystemPackage

/// Reads the files of a zip sequentially with libarchive, in memory of constant size.
///
/// Confined to one thread.
package final class ArchiveReader {
    /// The source of the bytes for libarchive, and the error that it caused.
    private final class Source {
        let bytes: any ArchiveBytes
        var error: ArchiveError?

        init(_ bytes: any ArchiveBytes) {
            self.bytes = bytes
        }

        /// Nothing is needed after the last file, but an encrypted archive is verified only at its end.
        func readToEnd() throws(ArchiveError) {
            if let error { throw error }
            while try !bytes.next().isEmpty {}
        }
    }

    private let archive: OpaquePointer
    /// Nil for a zip of another program, which libarchive opens itself.
    private let source: Source?
    /// For error messages.
    private let name: String
    /// Names are UTF-8 in any locale: libarchive uses the thread's locale.
    private let locale: locale_t?
    private let oldLocale: locale_t?

    /// - Parameter name: the archive's name in error messages.
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

    /// Opens a zip that another program wrote. Skips entries that are not files.
    /// - Throws: `damaged` if the file is not a zip.
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

    /// Moves to the next file.
    /// - Returns: the file's name; `nil` at the archive's end.
    /// - Throws: `damaged` if the archive contains anything but files.
    package func next() throws(ArchiveError) -> String? {
        while true {
            if let name = try nextEntry() { return name.isEmpty ? nil : name }
        }
    }

    /// - Returns: an empty name at the archive's end; nil for a skipped entry.
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
                .damaged, "\(self.name) has an entry that is not a file. Holdfast makes no such archives.")
        }
        return name
    }

    /// The current file's next bytes, valid until the next call; none at its end, when its checksum has been verified.
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
        // A wrong key also gives meaningless bytes; reading to the end shows whether the key is wrong.
        do throws(ArchiveError) {
            try source?.readToEnd()
        } catch {
            return error
        }
        let reason = archive_error_string(archive).map { String(cString: $0) } ?? "it is not a zip"
        if source == nil { return ArchiveError(.damaged, "its zip can't be read: \(reason)") }
        return ArchiveError(
            .damaged, "\(name) can't be read: \(reason). It is not an archive, or it was changed: get it again.")
    }
}
