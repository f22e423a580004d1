import Messages

/// What a look at all of a session's files has brought to light.
package final class SessionVerification {
    package enum Verdict: Comparable, Sendable {
        /// Every sample that belongs to it is there, and every file is what was written.
        case whole
        /// Samples are missing, or it was not finished; everything says so itself.
        case loss
        /// Files are not what was written.
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
    /// Of the files, by name.
    package internal(set) var hashes: [String: String] = [:]
    /// What became of files that do not exist any more, by name.
    var gone: [String: RemovedFile] = [:]
    private let progress: Progress
    /// Each byte is looked at twice: for its hash and for its samples.
    private var lookedAt = 0
    private var toLookAt = 0
    var streams = 0
    var files = 0
    package private(set) var removed: [RemovedFile] = []
    /// The samples that were in them, as `session.json` says.
    package private(set) var removedSamples = 0

    /// Gets how many bytes were looked at, of how many, after each file.
    package typealias Progress = (_ bytes: Int, _ total: Int) -> Void

    init(of directory: SessionDirectory, progress: @escaping Progress) {
        self.directory = directory
        self.progress = progress
    }

    /// Notes how many bytes are to be looked at.
    func expect(bytes: Int) { toLookAt += bytes }

    /// Notes that bytes were looked at.
    func pass(bytes: Int) {
        lookedAt += bytes
        progress(lookedAt, toLookAt)
    }

    /// The worst of them.
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

    /// Notes a file that was removed after it was finished: nothing is wrong with that.
    func remove(_ file: RemovedFile, samples: Int) {
        removed.append(file)
        removedSamples = removedSamples.addingClamped(samples)
        let noun = samples == 1 ? "sample" : "samples"
        find(.whole, file.name, "\(file.sentence); it had \(samples) \(noun), as session.json says")
    }
}
