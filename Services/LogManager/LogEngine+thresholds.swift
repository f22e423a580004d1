import Files
import Logging
import Messages
import Recording
import ServiceKit

/// When somebody is told that there is much.
extension LogEngine {
    var thresholds: LogThresholds { catalog.thresholds }

    /// Changes thresholds, and compares at once.
    func setThresholds(_ request: LogsSetThresholds) throws -> LogThresholds {
        let thresholds = try catalog.thresholds.changed(by: request)
        if thresholds != catalog.thresholds { try catalog.setThresholds(thresholds) }
        try evaluate()
        return thresholds
    }

    /// Compares what there is with the thresholds, and says what was crossed.
    func evaluate() throws {
        // In a dry run nobody is told.
        if events == nil { return }
        for threshold in catalog.crossings {
            guard let value = value(of: threshold.kind) else { continue }
            var threshold = threshold
            let wasCrossed = threshold.isCrossed
            let limit = catalog.thresholds[keyPath: threshold.kind.limit]
            let fires = threshold.evaluate(value, limit: limit)
            // Stored before it is said: it is said once, also where the program ends here.
            if threshold.isCrossed != wasCrossed {
                try usingReserve { () throws(RecordingError) in try catalog.setCrossing(threshold) }
            }
            if fires {
                logger.notice(
                    "threshold crossed",
                    metadata: ["threshold": "\(threshold.kind)", "bytes": "\(value)", "limit": "\(limit)"])
                publish(
                    .threshold, of: LogFileEvent.allLogs, bytes: value, threshold: threshold.kind, limit: limit)
            }
        }
        if isFull { fullContinuation.yield() } else { health.clear("full") }
        noteHealth()
    }

    /// Whether there is more than the user's policy leaves.
    var isFull: Bool { bytesToFree > 0 }

    /// Whether the files are too much by their own sizes, and not only for the disk.
    var isTooMuch: Bool { excess(by: catalog.thresholds) > 0 }

    /// How many bytes have to go so that no threshold of all files or of room is crossed.
    var bytesToFree: Int { bytesToFree(by: catalog.thresholds) }

    /// The same with these thresholds.
    func bytesToFree(by thresholds: LogThresholds) -> Int {
        let missing = thresholds.minimumFreeBytes > 0 ? thresholds.minimumFreeBytes - (freeBytes ?? .max) : 0
        return max(0, excess(by: thresholds), missing)
    }

    /// How many bytes all files are beyond their threshold; negative below it, 0 without one.
    private func excess(by thresholds: LogThresholds) -> Int {
        thresholds.totalBytes > 0 ? catalog.usage.totalBytes - thresholds.totalBytes : 0
    }

    private func value(of kind: Threshold.Kind) -> Int? {
        switch kind {
        case .pendingUploadBytes: catalog.usage.pendingBytes
        case .totalBytes: catalog.usage.totalBytes
        case .minimumFreeBytes: freeBytes
        }
    }

    private func noteHealth() {
        health.measure("pendingUploadBytes", Double(catalog.usage.pendingBytes))
        health.measure("totalBytes", Double(catalog.usage.totalBytes))
        let floor = catalog.thresholds.minimumFreeBytes
        if let freeBytes, floor > 0, freeBytes < floor {
            health.report(
                .degraded,
                "the disk has \(ByteCount(bytes: freeBytes)) free, less than \(ByteCount(bytes: floor)): free some space",
                for: "disk")
        } else {
            health.clear("disk")
        }
    }
}

extension LogThresholds {
    /// These thresholds with some of them changed.
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
