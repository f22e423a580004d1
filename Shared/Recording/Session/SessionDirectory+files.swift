package import Files
import Messages
import SystemPackage

/// Files that clients add to a session, such as a photo or a survey.
extension SessionDirectory {
    /// Most bytes of a file.
    package static let maximumFileBytes = 1 << 30

    /// Writes a piece of a file. The file gets its name with the last piece, and then survives a power cut.
    /// - Parameters:
    ///   - offset: where the piece begins: 0 to start again, or at most the number of bytes received so far.
    ///   - isLast: whether the piece completes the file.
    /// - Returns: the number of bytes received so far, and the SHA-256 of the complete file.
    /// - Throws: `invalidParameter` if the name can't be used, or if bytes before the piece are missing.
    package func add(
        _ bytes: [UInt8], to name: String, at offset: Int, isLast: Bool
    ) throws(RecordingError) -> (bytes: Int, sha256: String?) {
        try Self.check(name)
        let end = offset.addingClamped(bytes.count)
        let temporary = Directory.temporaryName(for: name)
        let path = directory.path.appending(temporary)
        if offset > 0, isLast, !directory.contains(temporary), isFile(name), size(of: name) == end {
            // A repeated request, whose first answer was lost.
            return (end, try FinishedFile.measure(directory.path.appending(name)).sha256)
        }
        let file = try OpenFile(openingOrCreating: path)
        let length = try Int(file.byteCount())
        guard offset <= length, end <= Self.maximumFileBytes else {
            throw RecordingError(
                .invalidParameter, action: "add to", path: path,
                reason: end > Self.maximumFileBytes
                    ? "it would be longer than \(Self.maximumFileBytes) bytes"
                    : "the piece begins at \(offset), and \(length) bytes are there",
                advice: "Send the pieces in their order, at most \(Self.maximumFileBytes) bytes together.")
        }
        try file.write(bytes, at: Int64(offset))
        if length > end { try file.resize(to: Int64(end)) }
        guard isLast else { return (end, nil) }
        try file.syncAll()
        try directory.rename(temporary, to: name, calls: .system)
        try directory.sync()
        return (end, try FinishedFile.measure(directory.path.appending(name)).sha256)
    }

    /// Removes files that were begun and never completed.
    package func removeUnfinishedFiles() {
        for name in (try? directory.names()) ?? [] where Directory.finalName(ofTemporary: name) != nil {
            try? Directory.removeFile(directory.path.appending(name))
        }
    }

    /// Refuses names of stream files and other reserved names.
    private static func check(_ name: String) throws(RecordingError) {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        let isStream = parts.last.flatMap { LogFormat(rawValue: $0.lowercased()) } != nil && LogName.mayBeStream(name)
        let reserved = [
            recordName, reportName, checksumsName, annotationsName, RemovedFile.fileName, JournalEntry.fileName,
            // An archive uses these names itself.
            "metadata.json", "answers.json", "taskResult.json",
        ]
        let isReserved = reserved.contains { $0.lowercased() == name.lowercased() }
        guard hasChecksum(name), !name.utf8.contains(UInt8(ascii: "/")), (1...200).contains(name.utf8.count),
            !isStream, !isReserved
        else {
            throw RecordingError(
                .invalidParameter, action: "add a file named '\(name.prefix(200))'",
                reason: "no file beside the stream files can have that name",
                advice:
                    "Write up to 200 bytes without \"/\", with no \".\" at the beginning; and no \"_\" in a name that ends "
                    + "in .json, .csv or .tsv.")
        }
    }
}
