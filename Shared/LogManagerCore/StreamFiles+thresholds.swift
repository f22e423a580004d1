import Logging
package import Messages
import ServiceKit

/// Compares sizes with the thresholds, and acts when one is crossed.
extension StreamFiles {
    package func setThresholds(_ request: LogsSetThresholds, at now: Moment) -> Answer<LogThresholds> {
        let answer = Answer<LogThresholds>()
        do {
            let thresholds = try catalog.thresholds.changed(by: request)
            if thresholds == catalog.thresholds {
                answer.give(thresholds)
                evaluate(at: now)
            } else {
                change(.setThresholds(thresholds), for: .thresholds(answer))
            }
        } catch {
            answer.refuse(error)
        }
        advance(at: now)
        return answer
    }

    /// Takes the number of bytes free on the disk; nil if unknown.
    package func take(freeBytes: Int?, at now: Moment) {
        self.freeBytes = freeBytes
        if let freeBytes { freedSpace?.take(freeBytes: freeBytes) }
        evaluate(at: now)
        judgeCleanUp(at: now)
        advance(at: now)
    }

    /// Compares the current sizes with the thresholds.
    func evaluate(at now: Moment) {
        guard case .running = state, !isDryRun else { return }
        let thresholds = catalog.thresholds
        for threshold in catalog.crossings where !storedKinds.contains(threshold.kind) {
            guard let value = value(of: threshold.kind) else { continue }
            let limit = thresholds[keyPath: threshold.kind.limit]
            var new = threshold
            let fires = new.evaluate(value, limit: limit)
            guard new != threshold else { continue }
            // Stored before it is published, so that a crossing is published at most once, even if the program is killed here.
            storedKinds.insert(new.kind)
            change(.setCrossing(new), for: .crossing(fires: fires, value: value, limit: limit))
        }
        if isFull { cleanUpIfDue(at: now) } else { emit(.clear("full")) }
        if let freeBytes, freeBytes < thresholds.minimumFreeBytes {
            let floor = ByteCount(bytes: thresholds.minimumFreeBytes)
            emit(
                .degraded(
                    "the disk has \(ByteCount(bytes: freeBytes)) free, less than \(floor): free some space", for: "disk"
                ))
        } else {
            emit(.clear("disk"))
        }
    }

    func announce(_ kind: Threshold.Kind, value: Int, limit: Int, at now: Moment) {
        log(.notice, "threshold crossed", ["threshold": "\(kind)", "bytes": "\(value)", "limit": "\(limit)"])
        publish(.threshold, of: LogFileEvent.allLogs, at: now, bytes: value, threshold: kind, limit: limit)
    }

    /// How many bytes must be removed so that neither the threshold of all files nor that of free space is crossed.
    package var bytesToFree: Int { bytesToFree(by: catalog.thresholds) }

    var isFull: Bool { bytesToFree > 0 }

    /// How many bytes must be removed to meet these thresholds.
    func bytesToFree(by thresholds: LogThresholds) -> Int {
        max(0, excess(by: thresholds), missing(by: thresholds))
    }

    /// How many bytes of free space are missing; negative or 0 if there is enough.
    func missing(by thresholds: LogThresholds) -> Int {
        thresholds.minimumFreeBytes > 0 ? thresholds.minimumFreeBytes - (freeBytes ?? .max) : 0
    }

    /// How far all files and the remains of sessions exceed their threshold, in bytes; negative below it, 0 without one.
    func excess(by thresholds: LogThresholds) -> Int {
        thresholds.totalBytes > 0 ? catalog.usage.totalBytes + remainingBytes - thresholds.totalBytes : 0
    }

    private func value(of kind: Threshold.Kind) -> Int? {
        switch kind {
        case .pendingUploadBytes: catalog.usage.pendingBytes
        case .totalBytes: catalog.usage.totalBytes
        case .minimumFreeBytes: freeBytes
        }
    }
}

extension LogThresholds {
    /// These thresholds with the changes of a request.
    func changed(by request: LogsSetThresholds) throws(RequestError) -> LogThresholds {
        var thresholds = self
        let changes = [
            (\LogThresholds.pendingUploadBytes, request.pendingUploadBytes),
            (\LogThresholds.totalBytes, request.totalBytes),
            (\LogThresholds.minimumFreeBytes, request.minimumFreeBytes),
        ]
        for (threshold, bytes) in changes {
            guard let bytes else { continue }
            guard bytes >= 0 else {
                throw RequestError(.invalidParameter, "a threshold is \(bytes): write bytes, or 0 for none")
            }
            thresholds[keyPath: threshold] = bytes
        }
        return thresholds
    }
}
