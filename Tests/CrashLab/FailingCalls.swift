import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import ZeroMQ

/// Each call of a session that changes files fails in turn, once or for as long as the fault lasts. The recorder survives; the
/// session completes, or fails with a reason and keeps everything committed; the next session works.
struct FailingCalls: Experiment {
    let part: Double

    let name = "failing-calls"
    let fault = "each write, sync, rename … of a session failing in turn (ENOSPC, EIO, EDQUOT, EROFS, short writes)"

    /// A fault, and whether it affects the write-ahead log.
    private struct Place {
        let isLog: Bool
        let fault: FaultLayer.Fault

        init(isLog: Bool, _ fault: FaultLayer.Fault) {
            self.isLog = isLog
            self.fault = fault
        }
    }

    private static let errors: [Errno] = [.noSpace, .ioError, .diskQuotaExceeded, .readOnlyFileSystem]

    func run(in lab: Laboratory, row: inout Row) async throws {
        var random = lab.random(for: name)
        try await Rig.run(name, in: lab, row: &row) { rig, row in
            rig.data = rig.directory.appending("data")
            let heal = rig.directory.appending("heal")
            var layer = FaultLayer(library: lab.faultLayer, root: rig.data, heal: heal)
            // Calls at the program's start are not tested here, so only those on the session's own files and those on the
            // write-ahead log are counted, separately.
            layer.prefix = rig.directory(of: "counted")
            let calls = try await ShortSession.trace(of: rig, with: layer)
            var faults: [Place] = []
            for isLog in [false, true] {
                let log = WriteAheadFiles.directory(beside: rig.data.appending("recordings"))
                let counts = calls.counts(under: isLog ? log : rig.directory(of: "counted"))
                faults += counts.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { call, count in
                    (1...count).map { number in
                        let action = FaultLayer.Action.fail(Self.errors.randomElement(using: &random) ?? .ioError)
                        return Place(isLog: isLog, FaultLayer.Fault(call: call, number: number, action: action))
                    }
                }
                faults += (1...4).map {
                    Place(isLog: isLog, FaultLayer.Fault(call: .write, number: $0 * 3, action: .short))
                }
            }
            faults.shuffle(using: &random)
            let lasting = Self.errors.enumerated().map { index, errno in
                Place(
                    isLog: index.isMultiple(of: 2),
                    FaultLayer.Fault(call: .write, number: 5, action: .fail(errno), count: 1_000_000))
            }
            let wanted = lab.crashes >= 500 ? faults.count : min(faults.count, lab.share(part, atLeast: 10))
            row.notes.append("\(wanted) of \(faults.count) calls, and \(lasting.count) faults that last")
            var failed = 0
            for (number, place) in (lasting + faults.prefix(wanted)).enumerated() where row.violations.isEmpty {
                row.tries += 1
                let fault = place.fault
                rig.data = rig.directory.appending("data-\(number)")
                try? FileManager.default.removeItem(atPath: heal.string)
                var layer = FaultLayer(library: lab.faultLayer, root: rig.data, fault: fault, heal: heal)
                let log = WriteAheadFiles.directory(beside: rig.data.appending("recordings"))
                layer.prefix = place.isLog ? log : rig.directory(of: "session")
                do {
                    let hasFailed = try await attempt(layer, heal: heal, rig, &row)
                    if hasFailed { failed += 1 }
                    if !hasFailed, fault.count > 1 { throw Violation("nothing failed") }
                } catch {
                    throw Violation(
                        "\(place.isLog ? "write-ahead log, " : "")\(fault): \(error)\n\(try rig.running().standardError)"
                    )
                }
            }
            row.notes.append("\(failed) sessions failed or were refused, the others did not mind")
        }
    }

    /// - Returns: whether the session failed, or was refused.
    private func attempt(_ layer: FaultLayer, heal: FilePath, _ rig: Rig, _ row: inout Row) async throws -> Bool {
        _ = try await rig.startRecorder(layer).ready()
        let watch = try await EventWatch(rig)
        var refusal: RequestError?
        do {
            try await ShortSession.record("session", with: rig)
        } catch let error as RequestError {
            refusal = error
        }
        let hasFailed = try await judge(refusal, watch, rig, &row)
        // The disk works again, and so does the recorder.
        try Data().write(to: URL(filePath: heal.string))
        try await rig.record("after", ShortSession.plan, for: .milliseconds(250), row: &row)
        try await rig.terminateRecorder()
        return hasFailed
    }

    /// Checks that a session with a fault either completes or fails properly.
    private func judge(
        _ refusal: RequestError?, _ watch: EventWatch, _ rig: Rig, _ row: inout Row
    ) async throws -> Bool {
        let failure = try await watch.failure(of: "session")
        guard let failure else {
            guard let refusal else {
                try await rig.check("session", row: &row)
                rig.forget("session")
                return false
            }
            // The session could not begin, and the client got an error.
            guard rig.expectations["session"] == nil || !rig.acknowledged.contains("session") else {
                throw Violation("a request was refused and nothing was said on the bus: \(refusal)")
            }
            rig.forget("session")
            return true
        }
        guard !failure.reason.isEmpty else { throw Violation("the session failed without a reason") }
        let health = try await rig.ask(ServiceHealth())
        guard health.status != .ok, health.reasons.contains(where: { $0.contains("session") }) else {
            throw Violation("the session failed and health does not say so: \(health)")
        }
        try await eventually("the failed session's end", within: .seconds(20)) {
            try await rig.ask(RecordingStatus(session: "session")).status == "failed"
        }
        if var expectation = rig.expectations["session"] {
            // Everything committed is there; samples of up to 200 ms before the failure may be missing.
            let end = failure.heard.advanced(byMilliseconds: -200)
            if expectation.stopAsked.monotonic > end.monotonic { expectation.stopAsked = end }
            expectation.isCutOff = true
            expectation.mayLose = true
            row.add(
                SessionCheck.findings(
                    in: rig.directory(of: "session"), expectation: expectation,
                    histories: rig.forwarder.samples.histories(matching: expectation.streams)))
        }
        rig.forget("session")
        return true
    }
}
