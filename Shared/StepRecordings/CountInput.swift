package import Files
package import Messages
import Recording
package import SystemPackage

/// A recording whose steps are counted: its files in order, and its known losses.
package struct CountInput: Hashable {
    /// The path of the recording.
    package let name: String
    /// The stream, if the recording is part of a session.
    package var stream: StreamName?
    package let files: [String]
    /// Its valid annotations.
    package var annotations: [CountedAnnotation] = []
    /// Descriptions of missing samples, for people.
    package var losses: [String] = []
    /// The stream's rows, if the files alone are not enough: samples were filled in, the magnitude has another name, or the
    /// unit changes.
    var rows: StreamRows?

    package init(name: String, stream: StreamName? = nil, files: [String]) {
        self.name = name
        self.stream = stream
        self.files = files
    }

    /// The recordings in files, in the given order. Rotated files of one stream are one recording, in their own order, with the
    /// file being written last; of several copies of a file, the first is used. Every other file is a recording by itself.
    package static func recordings(inFiles paths: [String]) -> [CountInput] {
        let files = paths.map(LogPath.init)
        var parts: [LogPath.Log: [FinishedName: String]] = [:]
        for file in files {
            // A second file with the same name is a copy, or a compressed one.
            if let name = file.finished, parts[file.log]?[name] == nil {
                parts[file.log, default: [:]][name] = file.path
            }
        }
        var current: [LogPath.Log: String] = [:]
        for file in files where file.finished == nil && parts[file.log] != nil && current[file.log] == nil {
            current[file.log] = file.path
        }
        return files.compactMap { file in
            guard file.finished != nil || current[file.log] == file.path else {
                return CountInput(name: file.path, files: [file.path])
            }
            // All files of the recording are at the place of the first one.
            guard let finished = parts.removeValue(forKey: file.log) else { return nil }
            let all = finished.sorted { $0.key < $1.key }.map(\.value) + (current[file.log].map { [$0] } ?? [])
            return CountInput(name: all.count == 1 ? file.path : file.log.path, files: all)
        }
    }

    /// The recordings of a session's streams with these names.
    /// - Throws: `notFound` if there is no session, or it has none of these streams.
    package static func recordings(inSession path: FilePath, streams: [String]) throws(RecordingError) -> [CountInput] {
        let session = try SessionDirectory(at: path)
        let record = try session.record()
        let annotations = try session.validAnnotations(of: record)
        let logs = record.logs.filter { streams.contains($0.stream) }
        guard !logs.isEmpty else {
            let names = record.logs.map { "\($0.device)/\($0.stream)" }.joined(separator: ", ")
            throw RecordingError(
                .notFound, action: "count steps in", path: path,
                reason: "the session has no stream called \(streams.joined(separator: " or "))",
                advice: names.isEmpty ? "It has none." : "It has \(names): say which with --stream.")
        }
        return logs.map { log in
            var input = CountInput(
                name: path.string, stream: StreamName(device: log.device, stream: log.stream),
                files: (log.files.map(\.name) + (log.file.map { [$0] } ?? [])).compactMap { name in
                    Directory(path).contains(name) ? path.appending(name).string : nil
                })
            let name = StreamName(device: log.device, stream: log.stream)
            input.annotations = annotations.filter { $0.stream ?? name == name }
                .map { CountedAnnotation($0, since: record.startDate) }
            for file in log.files where !Directory(path).contains(file.name) {
                input.losses.append("\(file.name) is missing: its \(file.samples) samples are not counted")
            }
            if let file = log.file, !Directory(path).contains(file) {
                input.losses.append("\(file) is missing: its samples are not counted")
            }
            let isNamedMagnitude = log.fields.count == 2 && !["x", "magnitude"].contains(log.fields[1])
            if log.fills != nil || isNamedMagnitude || log.unitChanges != nil {
                input.rows = StreamRows(session: session, record: record, log: log)
            }
            let lost = log.gaps.reduce(0) { $0.addingClamped($1.count) }
            if lost > 0 { input.losses.append("\(lost) samples were lost when it was recorded") }
            if log.gaps.contains(where: { $0.count == 0 }) {
                input.losses.append("an unknown number of samples was lost when it was recorded")
            }
            // A failure may be the only trace of lost samples, and does not say which streams it affects.
            input.losses += record.failures.map { "the session has a failure: \($0)" }
            return input
        }
    }
}
