import Files
package import Messages
import Recording
import ServiceKit

/// Marks files as uploaded, and finds files by path.
extension StreamFiles {
    /// The work behind a look at files.
    enum Look {
        case mark(MarkWork)
        case removal(Removal)
    }

    /// Files that are being marked or unmarked.
    final class MarkWork {
        let change: LogFileEvent.Change
        let receipt: JSONValue?
        /// What was uploaded, by path; empty if unknown.
        let uploads: [String: LogsMarkUploaded.File]
        let answer = Answer<LogFileOutcome>()
        var paths: ArraySlice<String>
        var outcome = LogFileOutcome(done: [], refused: [])

        init(
            _ change: LogFileEvent.Change, _ paths: [String], receipt: JSONValue? = nil,
            uploads: [LogsMarkUploaded.File] = []
        ) {
            self.change = change
            self.receipt = receipt
            self.uploads = Dictionary(uploads.map { ($0.path, $0) }) { first, _ in first }
            self.paths = StreamFiles.unique(paths)[...]
        }
    }

    package func mark(_ request: LogsMarkUploaded, at now: Moment) -> Answer<LogFileOutcome> {
        begin(MarkWork(.marked, request.paths, receipt: request.receipt, uploads: request.files ?? []))
    }

    package func unmark(_ request: LogsUnmarkUploaded, at now: Moment) -> Answer<LogFileOutcome> {
        begin(MarkWork(.unmarked, request.paths))
    }

    private func begin(_ work: MarkWork) -> Answer<LogFileOutcome> {
        advance(work)
        return work.answer
    }

    private func advance(_ work: MarkWork) {
        if work.paths.isEmpty { return work.answer.give(work.outcome) }
        look(at: &work.paths, for: .mark(work))
    }

    /// Looks up the next paths. Nothing is written, so a look takes twice as many files as a removal.
    func look(at paths: inout ArraySlice<String>, for look: Look) {
        let number = newNumber()
        looks[number] = look
        emit(.look(number, Array(paths.prefix(2 * pieceSize))))
        paths = paths.dropFirst(2 * pieceSize)
    }

    /// Takes the files that were found at paths.
    package func looked(_ number: Int, _ found: [PathLook], at now: Moment) {
        switch looks.removeValue(forKey: number) {
        case .mark(let work)?:
            do {
                let (files, refused) = try identify(found, as: work.uploads)
                work.outcome.refused += refused
                if files.isEmpty {
                    advance(work)
                } else if work.change == .marked {
                    change(.mark(files, receipt: work.receipt, date: now.date), for: .mark(work))
                } else {
                    change(.unmark(files), for: .mark(work))
                }
            } catch {
                work.answer.refuse(refusal(of: error, at: now))
            }
        case .removal(let removal)?: looked(found, by: removal, at: now)
        case nil: break
        }
        advance(at: now)
    }

    func marked(_ result: Result<[CatalogFile], RecordingError>, by work: MarkWork, at now: Moment) {
        switch result {
        case .failure(let error): work.answer.refuse(refusal(of: error, at: now))
        case .success(let files):
            if work.change == .marked { markedFiles += files.count }
            for file in files {
                publish(work.change, of: file.log.text, at: now, path: file.path, bytes: file.bytes)
            }
            work.outcome.done += files.map(\.path)
            advance(work)
        }
    }

    /// The files at some paths, and the refusals of others. A file must be as it was when it was finished.
    /// - Parameter uploads: what a file must not differ from, by path.
    func identify(
        _ found: [PathLook], as uploads: [String: LogsMarkUploaded.File] = [:]
    ) throws(RecordingError) -> (files: [CatalogFile], refused: [LogFileOutcome.Refusal]) {
        var files: [CatalogFile] = []
        var refused: [LogFileOutcome.Refusal] = []
        for look in found {
            func refuse(_ reason: String) {
                refused.append(LogFileOutcome.Refusal(path: look.path, reason: reason))
            }
            switch look.outcome {
            case .refused(let reason): refuse(reason)
            case .found(let identity):
                guard let file = try catalog.file(at: look.path) else {
                    refuse("it is not a finished file that log-manager knows")
                    continue
                }
                guard file.identity == identity else {
                    refuse("it was changed or replaced since it was finished; nothing was done")
                    continue
                }
                if let difference = uploads[look.path]?.difference(from: file) {
                    refuse("it is not what was uploaded: \(difference)")
                    continue
                }
                files.append(file)
            }
        }
        return (files, refused)
    }

    /// The paths in their order, without duplicates.
    static func unique(_ paths: [String]) -> [String] {
        var seen: Set<String> = []
        return paths.filter { seen.insert($0).inserted }
    }
}

extension LogsMarkUploaded.File {
    /// How the uploaded file differs from the file on the disk, for a person; nil if no difference is known.
    fileprivate func difference(from file: CatalogFile) -> String? {
        if bytes != file.bytes { return "it has \(file.bytes) bytes, and \(bytes) were uploaded" }
        guard let sha256, let known = file.sha256, known != sha256 else { return nil }
        return "its SHA-256 is \(known), and that of the upload \(sha256)"
    }
}
