package import Files
package import Messages
package import Recording
package import SystemPackage

/// Makes a session from a file of a wearable or a phone. Like any other session, it can be verified, exported, archived and
/// counted.
///
/// The file is read in pieces, in memory that does not grow with it. The same file, options and version give the same bytes.
package struct SessionImport {
    package struct Options: Sendable {
        /// The data directory.
        package var data: FilePath
        /// The session's name; nil to derive it from the file's.
        package var session: SessionIdentifier?
        /// The activity of the recorded person.
        package var task = ""
        /// The device's name; nil for the name in the file.
        package var device: String?
        /// The name of a table's stream; nil for `accelerometer` if it has x, y and z, otherwise `samples`.
        package var stream: String?
        /// The unit of a table's values.
        package var unit: String?
        /// The column of a table with the times; nil for one of the usual names.
        package var time: String?
        /// The origin of a table's times in seconds.
        package var start: WallTime?
        /// Seconds by which the device's clock is ahead of UTC, if the file does not state it; nil for 0.
        package var zone: Int?
        /// The format of stream files.
        package var format = LogFormat.json
        /// The size in bytes at which a stream file is rotated.
        package var maximumFileSize = 64_000_000

        package init(data: FilePath) {
            self.data = data
        }
    }

    package struct Outcome: Sendable {
        package let session: SessionIdentifier
        package let path: FilePath
        package let report: SessionReport
        /// Files of a zip that were not read.
        package let leftOut: [String]
    }

    private let path: FilePath
    private let options: Options
    private let version: String

    /// - Parameter version: the program's version, which is stored in the session's keys.
    package init(_ path: FilePath, _ options: Options, version: String) {
        self.path = path
        self.options = options
        self.version = version
    }

    /// Imports the file.
    ///
    /// - Parameter progress: gets the number of decompressed bytes read so far.
    /// - Throws: `unreadable`, `notFound`; `alreadyExists` if there is a session with this name; `noSpace`;
    ///   `invalidParameter` for a start of times that are dates. No session is made then.
    package func run(progress: (Int) -> Void = { _ in }) throws(RecordingError) -> Outcome {
        do throws(RecordingError) {
            return try importFile(progress)
        } catch {
            throw error.of(path)
        }
    }

    private func importFile(_ progress: (Int) -> Void) throws(RecordingError) -> Outcome {
        let source = try SourceFile(path)
        let session: SessionIdentifier
        if let asked = options.session { session = asked } else { session = try Self.session(of: path) }
        let writer = try SessionWriter(session, options)
        var reading = SourceReading(source, options, writer)
        try reading.run(progress)
        let measured = try FinishedFile.measure(path)
        var keys: [String: JSONValue] = [
            "file": .string(path.lastComponent?.string ?? ""), "bytes": .integer(measured.bytes),
            "sha256": .string(measured.sha256), "kind": .string(reading.kind), "version": .string(version),
        ]
        if let zone = reading.zone { keys["zone"] = .string(zone) }
        if !reading.about.isEmpty { keys["source"] = .object(reading.about) }
        if !reading.leftOut.isEmpty { keys["leftOut"] = .array(reading.leftOut.map { .string($0) }) }
        let report = try writer.finish(keys: .object(["import": .object(keys)]))
        return Outcome(
            session: session, path: SessionDirectory.recordings(in: options.data).path.appending(session.text),
            report: report, leftOut: reading.leftOut)
    }

    /// Derives a session's name from a file's: characters that a name cannot have become "-".
    private static func session(of path: FilePath) throws(RecordingError) -> SessionIdentifier {
        var name = path.lastComponent?.string ?? ""
        let endings = [".gz", ".cwa", ".CWA", ".gt3x", ".zip", ".csv", ".tsv", ".txt", ".json"]
        for ending in endings where name.hasSuffix(ending) { name.removeLast(ending.count) }
        let characters = name.unicodeScalars.map { scalar -> Character in
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "-", "_", ".": Character(scalar)
            default: "-"
            }
        }
        return try SessionIdentifier(new: String(characters.prefix(128)))
    }
}
