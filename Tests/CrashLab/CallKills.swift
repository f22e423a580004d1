import SystemPackage
import TestSupport

/// kill -9 of the recorder at each of its calls that change files: before it, after it, and in the middle of a write. Half of the
/// kills hit the recorder during a recovery.
struct CallKills: Experiment {
    let part: Double

    let name = "call-kill"
    let fault = "kill -9 of the recorder at one of its file calls, also half-way through a write"

    func run(in lab: Laboratory, row: inout Row) async throws {
        var random = lab.random(for: name)
        try await Rig.run(name, in: lab, row: &row) { rig, row in
            rig.data = rig.directory.appending("counted")
            let counts = try await ShortSession.calls(
                of: rig, with: FaultLayer(library: lab.faultLayer, root: rig.data))
            var reached = 0
            let wanted = lab.share(part, atLeast: 6)
            for number in 0..<wanted where row.violations.isEmpty {
                rig.data = rig.directory.appending("data-\(number)")
                row.tries += 1
                if number.isMultiple(of: 2) {
                    let fault = Self.fault(counts, using: &random)
                    if try await inSession(fault, rig, &row) { reached += 1 }
                } else {
                    let fault = Self.fault(counts.mapValues { min($0, 12) }, using: &random)
                    if try await inRecovery(fault, rig, &row, &random) { reached += 1 }
                }
            }
            row.notes.append("\(reached) of \(row.tries) were reached")
        }
    }

    private static func fault(_ counts: [FaultLayer.Call: Int], using random: inout SplitMix) -> FaultLayer.Fault {
        let calls = counts.keys.sorted { $0.rawValue < $1.rawValue }
        let call = random.happens(0.3) ? .write : calls.randomElement(using: &random) ?? .write
        let actions: [FaultLayer.Action] =
            call == .write ? [.killBefore, .killAfter, .killTorn] : [.killBefore, .killAfter]
        return FaultLayer.Fault(
            call: call, number: Int.random(in: 1...max(1, counts[call] ?? 1), using: &random),
            action: actions.randomElement(using: &random) ?? .killBefore)
    }

    /// Kills the recorder somewhere between its start and its end, while it records a session.
    private func inSession(_ fault: FaultLayer.Fault, _ rig: Rig, _ row: inout Row) async throws -> Bool {
        let recorder = try await rig.startRecorder(
            FaultLayer(library: rig.lab.faultLayer, root: rig.data, fault: fault))
        do {
            do {
                _ = try await recorder.ready()
            } catch  where recorder.processIdentifier == nil { throw Rig.Died() }
            try await ShortSession.record("session", with: rig)
            try await rig.killRecorder()
            try await rig.check("session", row: &row)
            rig.forget("session")
            return false
        } catch is Rig.Died {
            // Throws if the recorder ended in another way than by the fault's kill.
            try await rig.killRecorder()
            try await goOn(after: fault, rig, &row)
            return true
        }
    }

    /// Kills the recorder during a session, and again while it recovers.
    private func inRecovery(
        _ fault: FaultLayer.Fault, _ rig: Rig, _ row: inout Row, _ random: inout SplitMix
    ) async throws -> Bool {
        _ = try await rig.startRecorder().ready()
        try await rig.start("session", ShortSession.plan)
        try await Task.sleep(for: random.milliseconds(100...600))
        try await rig.killRecorder()
        let recorder = try await rig.startRecorder(
            FaultLayer(library: rig.lab.faultLayer, root: rig.data, fault: fault))
        let isReached = (try? await recorder.end(within: .milliseconds(700))) != nil
        try await rig.killRecorder()
        try await goOn(after: fault, rig, &row)
        return isReached
    }

    private func goOn(after fault: FaultLayer.Fault, _ rig: Rig, _ row: inout Row) async throws {
        do {
            let start = ContinuousClock.now
            _ = try await rig.startRecorder().ready()
            let isStopped = rig.plans["session"] == nil && rig.expectations["session"] != nil
            try await rig.settleAll()
            try await rig.catchUp()
            row.add(recovery: .now - start)
            if rig.expectations["session"] != nil {
                if !isStopped { try await Task.sleep(for: .milliseconds(200)) }
                try await rig.stop("session")
                try await rig.check("session", row: &row)
            }
            rig.forget("session")
            try await rig.killRecorder()
        } catch {
            throw Violation("after \(fault): \(error)")
        }
    }
}
