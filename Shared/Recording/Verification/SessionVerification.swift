import Messages

/// The results of checking all of a session's files.
package final class SessionVerification {
    package enum Verdict: Comparable, Sendable {
        /// Every sample of the session is there, and every file is as it was written.
        case whole
        /// Samples are missing, or the session was not finished; the session's files state this themselves.
        case loss
        /// Files are not as they were written.
        case damaged
    }

    package struct Finding: Hashable, Sendable, CustomStringConvertible {
        package let verdict: Verdict
        package let subject: String
        package let text: String

        package var description: String { "\(subject): \(text)" }
    }

    package private(set) var findings: [Finding] = []
    package internal(set) var samples = 0
    let directory: SessionDirectory
    /// SHA-256 of the files, by name; empty for a file that can't be read.
    package internal(set) var hashes: [String: String] = [:]
    /// The lines about files that were removed, by name.
    var gone: [String: RemovedFile] = [:]
    private let progress: Progress
    /// Bytes checked so far. Each byte is checked twice: for its hash and for its samples.
    private var lookedAt = 0
    private var toLookAt = 0
    var streams = 0
    var files = 0
    package private(set) var removed: [RemovedFile] = []
    /// The samples in the removed files, according to `session.json`.
    package private(set) var removedSamples = 0

    /// Called after each file with the bytes checked so far, and their total.
    package typealias Progress = (_ bytes: Int, _ total: Int) -> Void

    init(of directory: SessionDirectory, progress: @escaping Progress) {
        self.directory = directory
        self.progress = progress
    }

    /// Adds bytes to the total.
    func expect(bytes: Int) { toLookAt += bytes }

    /// Notes that bytes were checked.
    func pass(bytes: Int) {
        lookedAt += bytes
        progress(lookedAt, toLookAt)
    }

    /// The worst verdict of the findings.
    package var verdict: Verdict { findings.map(\.verdict).max() ?? .whole }

    package var summary: String {
        let verdict =
            switch verdict {
            case .whole: "whole"
            case .loss: "with loss, see above"
            case .damaged: "damaged, see above"
            }
        let extent = "\(samples.counted("sample")) of \(streams.counted("stream")) in \(files.counted("file"))"
        let removal = RemovedFile.summary(removed).map { "; \($0), with \(removedSamples.counted("sample"))" } ?? ""
        return "\(directory.session): \(extent)\(removal): \(verdict)"
    }

    func find(_ verdict: Verdict, _ subject: String, _ text: String) {
        findings.append(Finding(verdict: verdict, subject: subject, text: text))
    }

    /// Notes a file that was removed after it was finished, which is no fault.
    func remove(_ file: RemovedFile, samples: Int) {
        removed.append(file)
        removedSamples = removedSamples.addingClamped(samples)
        let noun = samples == 1 ? "sample" : "samples"
        find(.whole, file.name, "\(file.sentence); it had \(samples) \(noun), as session.json says")
    }
}
