package import Files
import Logging
package import Messages
import Recording
import ServiceKit

/// Changes of the catalog, one transaction each.
extension StreamFiles {
    struct PendingChange {
        let change: CatalogChange
        let purpose: Purpose
        /// Whether the change may still use the space reserved for a full disk.
        var mayUseReserve: Bool
    }

    enum Purpose {
        case segment
        case crossing(fires: Bool, value: Int, limit: Int)
        case thresholds(Answer<LogThresholds>)
        case startThresholds
        /// To find out whether the catalog can be written again.
        case proof
        case rule(LogConfiguration, Answer<LogConfiguration>)
        case oldRule(LogsRemove.Reply, Answer<LogsRemove.Reply>)
        case mark(MarkWork)
        case removal(Removal)
    }

    func change(_ change: CatalogChange, for purpose: Purpose) {
        let number = newNumber()
        changes[number] = PendingChange(change: change, purpose: purpose, mayUseReserve: change.mayUseReserve)
        emit(.change(number, change))
    }

    func newNumber() -> Int {
        defer { nextNumber += 1 }
        return nextNumber
    }

    /// Takes the result of a change.
    package func changed(_ number: Int, _ result: Result<[CatalogFile], RecordingError>, at now: Moment) {
        guard var pending = changes.removeValue(forKey: number) else { return }
        if case .failure(let error) = result, error.code == .noSpace, pending.mayUseReserve {
            pending.mayUseReserve = false
            changes[number] = pending
            emit(.releaseReserve)
            emit(.change(number, pending.change))
            return
        }
        switch (pending.purpose, pending.change) {
        case (.removal(let removal), let change): changed(change, of: removal, result, at: now)
        case (.mark(let work), _): marked(result, by: work, at: now)
        case (.crossing(let fires, let value, let limit), .setCrossing(let threshold)):
            storedKinds.remove(threshold.kind)
            if case .success = result, fires { announce(threshold.kind, value: value, limit: limit, at: now) }
            note(result, at: now)
        case (.crossing, _), (.segment, _): note(result, at: now)
        case (.startThresholds, _):
            if note(result, at: now) { state = .running }
        case (.proof, _):
            if note(result, at: now), !hasCatalogFailed { emit(.clear("catalog")) }
        case (.thresholds(let answer), _): give(answer, result, catalog.thresholds, at: now)
        case (.rule(let configuration, let answer), _): give(answer, result, configuration, at: now)
        case (.oldRule(let reply, let answer), _): give(answer, result, reply, at: now)
        }
        if case .success = result {
            switch pending.change {
            case .add, .mark, .setThresholds: endCleanUpPause()
            default: break
            }
            evaluate(at: now)
        }
        advance(at: now)
    }

    private func give<Reply>(
        _ answer: Answer<Reply>, _ result: Result<[CatalogFile], RecordingError>, _ reply: Reply, at now: Moment
    ) {
        switch result {
        case .success: answer.give(reply)
        case .failure(let error): answer.refuse(refusal(of: error, at: now))
        }
    }

    @discardableResult
    private func note(_ result: Result<[CatalogFile], RecordingError>, at now: Moment) -> Bool {
        guard case .failure(let error) = result else { return true }
        note(error)
        return false
    }

    /// Notes that the catalog could not be written, or the disk not be compared with it.
    func note(_ error: RecordingError) {
        if case .starting = state {
            state = .failed(error)
            return
        }
        hasCatalogFailed = true
        log(.error, "the catalog could not be written", [LogKey.error: "\(error)"])
        emit(.failing("the catalog could not be written: \(error)", for: "catalog"))
    }

    /// The refusal of a request because of an error. A wrong parameter is the client's mistake; anything else is trouble with the
    /// catalog or the disk.
    package func refusal(of error: RecordingError, at now: Moment) -> RequestError {
        if error.code != .invalidParameter { note(error) }
        let reason: RequestError.Reason =
            switch error.code {
            case .invalidParameter: .invalidParameter
            case .noSpace: .noSpace
            default: .inputOutput
            }
        return RequestError(reason, error.description)
    }
}
