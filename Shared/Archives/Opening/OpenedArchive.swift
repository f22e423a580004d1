import Compression
import Hashing
package import Encryption
import Files
import Messages
import Recording
package import SystemPackage

/// An archive whose content has been compared with its manifest, from beginning to end.
package struct OpenedArchive {
    /// A difference from the manifest.
    package struct Finding: Hashable, Sendable, CustomStringConvertible {
        package var subject: String
        package var text: String

        package var description: String { "\(subject): \(text)" }
    }

    /// The differences; empty if the archive is as it was made.
    package private(set) var findings: [Finding] = []
    /// The archive's manifest; `nil` if it has none.
    package private(set) var metadata: ArchiveMetadata?
    /// The number of files, including the manifest.
    package private(set) var files = 0
    /// The size of the files, in bytes.
    package private(set) var bytes = 0

    /// The limit in bytes, above the size of a manifest of a million files.
    private static let maximumManifestSize = 512 << 20

    /// Reads and compares an archive. Do not trust any content before this returns.
    ///
    /// - Parameters:
    ///   - key: decrypts the archive if it is encrypted.
    ///   - begin: receives the name of each file, before its bytes.
    ///   - body: receives the bytes in pieces.
    /// - Throws: `damaged` if the archive cannot be read to its end, `wrongKey`, `notFound`, `inputOutput`.
    init(
        _ path: FilePath, key: PrivateKey?,
        begin: (String) throws(ArchiveError) -> Void = { _ throws(ArchiveError) in },
        _ body: (UnsafeRawBufferPointer) throws(ArchiveError) -> Void = { _ throws(ArchiveError) in }
    ) throws(ArchiveError) {
        let file = try ArchiveInput(path)
        let reader = try ArchiveReader(try Self.bytes(of: file, key: key), name: path.string)
        var found: [String: (bytes: Int, sha256: String)] = [:]
        var order: [ZipDirectory.Entry] = []
        var manifest: [UInt8] = []
        while let name = try reader.next() {
            if found[name] != nil || name == GeneratedFile.metadata.fileName && metadata != nil {
                throw ArchiveError(.damaged, "\(path) has \(name) twice. Holdfast makes no such archives.")
            }
            try begin(name)
            let isManifest = name == GeneratedFile.metadata.fileName
            var hash = SHA256()
            var entry = ZipDirectory.Entry(name: name, checksum: 0, bytes: 0)
            while true {
                let piece = try reader.read()
                if piece.isEmpty { break }
                if isManifest {
                    guard manifest.count + piece.count <= Self.maximumManifestSize else {
                        throw ArchiveError(.damaged, "\(path) has a manifest that is larger than any Holdfast makes.")
                    }
                    manifest += piece
                } else {
                    hash.update(bufferPointer: piece)
                }
                entry.checksum = Checksum.crc32(piece, after: entry.checksum)
                entry.bytes += piece.count
                try body(piece)
            }
            files += 1
            bytes += entry.bytes
            order.append(entry)
            if isManifest {
                readManifest(manifest)
            } else {
                found[name] = (entry.bytes, hash.finalize().hexDigits)
            }
        }
        // An encrypted archive needs no such check: its tag covers every byte.
        if try Self.isZip(file), try ZipDirectory(file).entries != order {
            find(path.lastComponent?.string ?? path.string, "its directory does not match the files in it")
        }
        compare(with: found)
    }

    /// Reads an archive and compares it with its manifest.
    ///
    /// - Parameter key: decrypts the archive if it is encrypted.
    /// - Throws: `damaged` if the archive cannot be read to its end, `wrongKey`, `notFound`, `inputOutput`.
    package static func verify(_ path: FilePath, key: PrivateKey? = nil) throws(ArchiveError) -> OpenedArchive {
        try OpenedArchive(path, key: key)
    }

    private static func isZip(_ file: ArchiveInput) throws(ArchiveError) -> Bool {
        try file.bytes(at: 0, count: 2) == Array("PK".utf8)
    }

    private static func bytes(of file: ArchiveInput, key: PrivateKey?) throws(ArchiveError) -> any ArchiveBytes {
        if try isZip(file) { return PlainArchiveBytes(file) }
        guard try file.bytes(at: 0, count: 1) == [BERElement.sequence] else {
            throw ArchiveError(.damaged, "\(file.path) is not an archive: neither a zip nor an encrypted one.")
        }
        guard let key else {
            throw ArchiveError(.wrongKey, "\(file.path) is encrypted: give its recipient's private key with --key.")
        }
        return try DecryptedArchiveBytes(file, key: key)
    }

    private mutating func readManifest(_ bytes: [UInt8]) {
        do {
            metadata = try WireCoding.decode(ArchiveMetadata.self, from: bytes)
        } catch {
            find(GeneratedFile.metadata.fileName, "can't be understood: \(error)")
        }
    }

    private mutating func compare(with found: [String: (bytes: Int, sha256: String)]) {
        guard let metadata else {
            if findings.isEmpty {
                find(GeneratedFile.metadata.fileName, "is missing, so it is unknown what belongs in the archive")
            }
            return
        }
        let listed = Set(metadata.files.map(\.filename))
        for file in metadata.files {
            guard let found = found[file.filename] else {
                find(file.filename, "is missing")
                continue
            }
            if found.bytes != file.bytes {
                find(file.filename, "has \(found.bytes) bytes in place of \(file.bytes)")
            } else if found.sha256 != file.sha256 {
                find(file.filename, "does not match the manifest: its SHA-256 differs")
            }
        }
        for name in found.keys.sorted() where !listed.contains(name) { find(name, "is not in the manifest") }
    }

    private mutating func find(_ subject: String, _ text: String) {
        findings.append(Finding(subject: subject, text: text))
    }
}
