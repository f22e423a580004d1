import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport

/// A sync of the write-ahead log or of a stream's file fails. That is final: the kernel may have dropped what it could not write,
/// and a second sync would succeed without it. So the session fails, once and with a reason; the file is not synced again;
/// everything committed is there; and the next session works.
struct FailingSyncs: Experiment {
    let part: Double

    let name = "failing-sync"
    let fault = "a failing fdatasync of the write-ahead log or of a stream's file, not tried again"

    func run(in lab: Laboratory, row: inout Row) async throws {
        var random = lab.random(for: name)
        let wanted = lab.share(part, atLeast: 4)
        try await Rig.run(name, in: lab, row: &row) { rig, row in
            for number in 0..<wanted where row.violations.isEmpty {
                row.tries += 1
                rig.data = rig.directory.appending("data-\(number)")
                let isLog = number.isMultiple(of: 2)
                let number = isLog ? Int.random(in: 4...12, using: &random) : Int.random(in: 1...4, using: &random)
                var layer = FaultLayer(
                    library: lab.faultLayer, root: rig.data,
                    fault: FaultLayer.Fault(call: .sync, number: number, action: .fail(.ioError)))
                layer.trace = rig.directory.appending("trace")
                let log = WriteAheadFiles.directory(beside: rig.data.appending("recordings"))
                layer.prefix = isLog ? log : rig.directory(of: "session")
                do {
                    try await attempt(layer, rig, &row)
                } catch {
                    throw Violation(
                        "sync \(number) of \(isLog ? "the write-ahead log" : "a stream's file"): \(error)\n"
                            + (try rig.running().standardError))
                }
            }
        }
    }

    private func attempt(_ layer: FaultLayer, _ rig: Rig, _ row: inout Row) async throws {
        guard let trace = layer.trace else { return }
        try? FileManager.default.removeItem(atPath: trace.string)
        _ = try await rig.startRecorder(layer).ready()
        let watch = try await EventWatch(rig)
        try await rig.start(
            "session", SessionPlan(streams: ["phone/", "left-wrist/gyro"], maximumFileSize: 10_000))
        var failure: EventWatch.Failure?
        try await eventually("the session fails", within: .seconds(20)) {
            failure = try await watch.failure(of: "session")
            return failure != nil
        }
        guard let failure else { return }
        if !failure.reason.contains("sync") {
            row.violations.append("the session failed without the reason: \(failure.reason)")
        }
        try await eventually("the failed session's end", within: .seconds(20)) {
            try await rig.ask(RecordingStatus(session: "session")).status == "failed"
        }
        if let again = try await watch.failure(of: "session") {
            row.violations.append("the session failed twice: \(failure.reason), \(again.reason)")
        }
        let health = try await rig.ask(ServiceHealth())
        guard health.status != .ok, health.reasons.contains(where: { $0.contains("session") }) else {
            throw Violation("the session failed and health does not say so: \(health)")
        }
        if var expectation = rig.expectations["session"] {
            // Everything committed is there; samples of up to 200 ms before the failure may be missing.
            expectation.stopAsked = failure.heard.advanced(byMilliseconds: -200)
            expectation.isCutOff = true
            expectation.mayLose = true
            let findings = SessionCheck.findings(
                in: rig.directory(of: "session"), expectation: expectation,
                histories: rig.forwarder.samples.histories(matching: expectation.streams))
            if findings.lost > 0 { row.violations.append("\(findings.lost) samples that were committed are lost") }
            row.add(findings)
        }
        try await rig.verify(rig.directory(of: "session"), isWhole: false, row: &row)
        rig.forget("session")
        try await rig.record("after", ShortSession.plan, for: .milliseconds(400), row: &row)
        try await rig.killRecorder()
        let calls = try DiskTrace(trace)
        guard calls.records.contains(where: { $0.kind == .syncFailed }) else { throw Violation("no sync failed") }
        for path in calls.resyncedPaths {
            row.violations.append("\(path) was synced again after a sync of it had failed, and believed")
        }
    }
}
