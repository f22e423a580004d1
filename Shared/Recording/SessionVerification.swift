import Messages

/// What a look at all of a session's files has brought to light.
package struct SessionVerification: Hashable, Sendable {
    package enum Verdict: Hashable, Sendable {
        /// Every sample that belongs to it is there, and every file is what was written.
        case whole
        /// Samples are missing, or it was not finished; everything says so itself.
        case loss
        /// Files are not what was written.
        case damaged
    }

    package struct Finding: Hashable, Sendable, CustomStringConvertible {
        package var verdict: Verdict
        package var subject: String
        package var text: String

        package var description: String { "\(subject): \(text)" }
    }

    package private(set) var findings: [Finding] = []
    package internal(set) var name = ""
    package internal(set) var streams = 0
    package internal(set) var files = 0
    package internal(set) var samples = 0
    package private(set) var removed: [RemovedFile] = []
    /// The samples that were in them, as `session.json` says.
    package private(set) var removedSamples = 0

    package var verdict: Verdict {
        if findings.contains(where: { $0.verdict == .damaged }) { return .damaged }
        return findings.contains { $0.verdict == .loss } ? .loss : .whole
    }

    package var summary: String {
        let verdict =
            switch verdict {
            case .whole: "whole"
            case .loss: "with loss, see above"
            case .damaged: "damaged, see above"
            }
        func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
        let extent = "\(count(samples, "sample")) of \(count(streams, "stream")) in \(count(files, "file"))"
        let removal = RemovedFile.summary(removed).map { "; \($0), with \(count(removedSamples, "sample"))" } ?? ""
        return "\(name): \(extent)\(removal): \(verdict)"
    }

    mutating func damage(_ subject: String, _ text: String) {
        findings.append(Finding(verdict: .damaged, subject: subject, text: text))
    }

    mutating func loss(_ subject: String, _ text: String) {
        findings.append(Finding(verdict: .loss, subject: subject, text: text))
    }

    /// Notes a file that was removed after it was finished: nothing is wrong with that.
    mutating func remove(_ file: RemovedFile, samples: Int) {
        removed.append(file)
        removedSamples = removedSamples.addingClamped(samples)
        findings.append(
            Finding(
                verdict: .whole, subject: file.name,
                text: "\(file.sentence); it had \(samples) sample\(samples == 1 ? "" : "s"), as session.json says"))
    }
}
