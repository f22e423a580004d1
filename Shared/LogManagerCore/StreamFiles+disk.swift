import DequeModule
package import Files
import Logging
package import Messages
package import Recording
import ServiceKit

/// Follows the disk: files that were finished, removed or changed.
extension StreamFiles {
    /// How many sessions may wait to be compared. Beyond that, all sessions are compared.
    private static let maximumUnseen = 1_000

    /// How far a comparison of all sessions is.
    enum Comparison {
        case listing(isRetry: Bool)
        case sessions(ArraySlice<SessionIdentifier>, isRetry: Bool)
    }

    /// The sessions that have a directory.
    package struct SessionList: Sendable {
        package let sessions: [SessionIdentifier]
        /// Whether the `recordings` directory has any entry that is not hidden.
        package let hasRecordings: Bool
        /// Sessions that were retired but not erased: their removal was interrupted.
        package let retired: [SessionIdentifier]

        package init(sessions: [SessionIdentifier], hasRecordings: Bool, retired: [SessionIdentifier] = []) {
            self.sessions = sessions
            self.hasRecordings = hasRecordings
            self.retired = retired
        }
    }

    // MARK: Recorders

    /// Takes events that recorders published.
    package func take(_ segments: [SegmentFinished], _ events: [RecordingEvent], at now: Moment) {
        // A session known by one of its files may have other files that were not announced.
        for event in events {
            guard let session = try? SessionIdentifier(event.session),
                event.mayHaveFinished || !catalog.isOpen(session)
            else { continue }
            wantComparison(of: session)
        }
        if !segments.isEmpty { emit(.find(segments)) }
        advance(at: now)
    }

    /// Takes announced files as found on the disk. One that differs from the announcement is left to the next comparison.
    package func found(_ files: [(segment: SegmentFinished, file: ScannedFile?)], at now: Moment) {
        for (segment, file) in files {
            guard var file, file.identity.bytes == segment.bytes else { continue }
            file.sha256 = segment.sha256
            change(.add(file), for: .segment)
        }
        advance(at: now)
    }

    /// Requests a comparison of a session soon, because its files may differ from those in the catalog.
    func wantComparison(of session: SessionIdentifier) {
        if unseen.contains(session) { return }
        if unseen.count < Self.maximumUnseen {
            unseen.append(session)
        } else {
            isComparisonWanted = true
        }
    }

    /// A recorder reconnected; events about files that it finished before may have been missed.
    package func noteReconnect() { isComparisonWanted = true }

    // MARK: Comparison

    func beginComparison(at now: Moment) {
        comparisonAt = now.monotonic.addingClamped(settings.rescanInterval)
        retryAt = now.monotonic + Self.retryInterval
        comparison = .listing(isRetry: hasCatalogFailed)
        (hasCatalogFailed, isComparisonWanted) = (false, false)
        emit(.listSessions)
    }

    /// Takes the sessions found on the disk.
    package func listed(_ result: Result<SessionList, RecordingError>, at now: Moment) {
        guard case .listing(let isRetry) = comparison else { return }
        switch result {
        case .failure(let error):
            comparison = nil
            note(error)
        case .success(let list):
            if !isDryRun { erase(list.retired.map { ($0, nil) }, at: now) }
            let known = catalog.sessions
            if list.sessions.isEmpty, !known.isEmpty, !list.hasRecordings {
                // If the disk is not mounted, the marks of all files must not be forgotten.
                let sentence = "there are no recordings, but the catalog lists some"
                log(.error, "\(sentence): nothing is compared")
                emit(.degraded("\(sentence): is the disk mounted?", for: "recordings"))
                endComparison(isRetry: isRetry, at: now)
            } else {
                emit(.clear("recordings"))
                let found = Set(list.sessions)
                comparison = .sessions(
                    (list.sessions + known.filter { !found.contains($0) })[...], isRetry: isRetry)
            }
        }
        advance(at: now)
    }

    /// Compares the next session, one at a time.
    func advanceComparison(at now: Moment) {
        guard compared == nil else { return }
        if let session = unseen.popFirst() {
            compare(session)
        } else if case .sessions(let rest, let isRetry) = comparison {
            guard let session = rest.first else { return endComparison(isRetry: isRetry, at: now) }
            comparison = .sessions(rest.dropFirst(), isRetry: isRetry)
            compare(session)
        }
    }

    private func compare(_ session: SessionIdentifier) {
        compared = session
        var isStart = false
        if case .starting = state { isStart = true }
        emit(.compare(session, atOnce: isStart))
    }

    /// Takes the result of a session's comparison.
    /// - Parameter warning: why files were left alone.
    package func compared(
        _ result: Result<CatalogChanges, RecordingError>, warning: String?, at now: Moment
    ) {
        guard let session = compared else { return }
        compared = nil
        if let warning {
            log(.warning, "files left alone", ["session": "\(session)", LogKey.error: "\(warning)"])
        }
        switch result {
        case .failure(let error):
            comparison = nil
            note(error)
        case .success(let changes):
            for file in changes.changed {
                log(.warning, "a finished file has changed; it counts as not uploaded", ["path": "\(file.path)"])
            }
            note(changes.remains, of: session)
            if !changes.isEmpty { endCleanUpPause() }
            if !changes.isEmpty, case .running = state {
                log(
                    .info, "the disk has changed",
                    [
                        "session": "\(session)", "added": "\(changes.added)", "gone": "\(changes.gone.count)",
                        "changed": "\(changes.changed.count)",
                    ])
            }
            evaluate(at: now)
        }
        advance(at: now)
    }

    private func endComparison(isRetry: Bool, at now: Moment) {
        comparison = nil
        emit(.lookAtDisk)
        if case .starting = state { return setStartThresholds(at: now) }
        if isRetry {
            // If there was nothing to write, this change proves that the catalog can be written again.
            change(.setThresholds(catalog.thresholds), for: .proof)
        } else if !hasCatalogFailed {
            emit(.clear("catalog"))
        }
    }

    private func setStartThresholds(at now: Moment) {
        if isDryRun {
            state = .running
            return
        }
        do throws(RequestError) {
            let thresholds = try catalog.thresholds.changed(by: settings.thresholds)
            if thresholds == catalog.thresholds {
                state = .running
                evaluate(at: now)
            } else {
                change(.setThresholds(thresholds), for: .startThresholds)
            }
        } catch {
            // Options are sizes, and no size is negative.
            state = .running
        }
    }
}

extension RecordingEvent {
    /// Whether files may have been finished without an announcement. In a session that is over, all files count; a recorder that
    /// was killed may not have announced the files that it finished.
    fileprivate var mayHaveFinished: Bool {
        change == .restart || SessionStatus(rawValue: status)?.isOver ?? false
    }
}
