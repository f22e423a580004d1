package import Files
import Hashing
package import Messages
import SystemPackage

/// Annotations that are added to a session after its end: lines of a file beside `session.json`, which has the earlier ones.
extension SessionDirectory {
    package static let annotationsName = "annotations.ndjson"

    private var annotationsFile: LineFile { LineFile(Self.annotationsName, in: directory) }

    /// All annotations of a session, in the order in which they arrived. Unreadable lines are left out.
    /// - Parameter record: the contents of `session.json`.
    package func annotations(of record: SessionRecord) throws(RecordingError) -> [Annotation] {
        (record.annotations ?? []) + Self.annotations(in: try annotationsFile.lines())
    }

    /// The annotations in the bytes of an `annotations.ndjson`.
    package static func annotations(in bytes: [UInt8]) -> [Annotation] {
        annotations(in: LineFile.lines(in: bytes))
    }

    private static func annotations(in lines: [ArraySlice<UInt8>]) -> [Annotation] {
        lines.compactMap { try? WireCoding.decode(Annotation.self, from: $0) }
    }

    /// The valid annotations of a session, in the order of their time; see `Annotation.valid`.
    /// - Parameter record: the contents of `session.json`.
    package func validAnnotations(of record: SessionRecord) throws(RecordingError) -> [Annotation] {
        Annotation.valid(in: try annotations(of: record))
    }

    /// Adds an annotation to a session that is over. When this returns, the annotation survives a power cut. One writer at a
    /// time.
    package func add(_ annotation: Annotation, calls: FileCalls = .system) throws(RecordingError) {
        try annotationsFile.append([StoredJSON.line(annotation)], calls: calls)
        guard var sums = try checksums() else { return }
        sums[Self.annotationsName] = try FinishedFile.measure(directory.path.appending(Self.annotationsName)).sha256
        try write(checksums: sums, calls: calls)
    }

    /// Whether the file begins with whole lines that have this hash, as after a kill between writing a line and its hash.
    package func annotationsContinue(_ sha256: String?) -> Bool {
        guard let sha256 else { return true }
        guard let bytes = try? directory.read(Self.annotationsName) else { return false }
        var hash = SHA256()
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast() {
            (line + [UInt8(ascii: "\n")]).withUnsafeBytes { hash.update(bufferPointer: $0) }
            if hash.finalize().hexDigits == sha256 { return true }
        }
        return false
    }
}
