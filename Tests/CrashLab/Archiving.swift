import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport

/// kill -9 of the archiver at any of its file calls while sessions are archived, encrypted, uploaded, noted in a receipt, marked
/// and removed, and while the archiver finishes what an earlier kill interrupted. log-manager and the receiver, a directory,
/// stay.
struct Archiving: Experiment {
    let name = "archive"
    let fault = "kill -9 of the archiver at one of its file calls, from a session's end to its receipt and its removal"

    private struct Plan {
        var isEncrypted: Bool
        var keepsArchives: Bool
        var keepsRecordings: Bool

        init(using random: inout SplitMix) {
            isEncrypted = random.happens(0.5)
            keepsArchives = random.happens(0.5)
            keepsRecordings = random.happens(0.3)
        }
    }

    func run(in lab: Laboratory, row: inout Row) async throws {
        var random = lab.random(for: name)
        try await Rig.run(name, in: lab, row: &row) { rig, row in
            try await CatalogExperiment.record(with: rig)
            let keys = try await StudyKeys(in: rig.directory)
            var counts: [FaultLayer.Call: Int] = [:]
            // The plan with the most calls.
            var plan = Plan(using: &random)
            (plan.isEncrypted, plan.keepsArchives, plan.keepsRecordings) = (true, false, false)
            try await Self.withArchivist(plan, keys, on: rig.data, at: rig.directory.appending("counted"), lab) {
                archivist in
                let trace = rig.directory.appending("trace")
                var layer = FaultLayer(library: lab.faultLayer, root: archivist.data)
                layer.trace = trace
                try await archivist.start(layer)
                try await archivist.settled()
                try await archivist.kill()
                counts = try DiskTrace(trace).counts
            }
            // A long run makes as many tries as it crashes recorders in all.
            let wanted = lab.crashes >= 500 ? lab.crashes : lab.share(0.15, atLeast: 6)
            var kills = 0
            for number in 0..<wanted {
                row.tries += 1
                let plan = Plan(using: &random)
                let faults = (0...Int.random(in: 0...2, using: &random)).map { _ in Self.fault(counts, using: &random) }
                let data = rig.directory.appending("data-\(number)")
                do {
                    try await Self.withArchivist(plan, keys, on: rig.data, at: data, lab) { archivist in
                        for fault in faults {
                            if try await Self.attempt(fault, archivist, &random) { kills += 1 }
                            try await archivist.glance()
                        }
                        let start = ContinuousClock.now
                        try await archivist.start()
                        try await archivist.settled()
                        row.add(recovery: .now - start)
                        // A kill could leave a lock, which the next start removes.
                        try await archivist.terminate()
                        row.samples += try await archivist.verify()
                    }
                } catch {
                    throw Violation("\(plan), \(faults): \(error); see \(data)")
                }
            }
            row.notes.append("killed \(kills) times in \(row.tries) tries; samples are log files here")
        }
    }

    private static func withArchivist(
        _ plan: Plan, _ keys: StudyKeys, on template: FilePath, at data: FilePath, _ lab: Laboratory,
        _ body: (ArchiveDriver) async throws -> Void
    ) async throws {
        try await CatalogDriver.run(on: template, at: data, in: lab) { custodian in
            try await custodian.start()
            try await custodian.ready()
            try await ArchiveDriver.run(
                beside: custodian, in: lab, keys: plan.isEncrypted ? keys : nil, keepsArchives: plan.keepsArchives,
                keepsRecordings: plan.keepsRecordings, body)
            try await custodian.kill()
        }
    }

    /// A random call at which the archiver is killed.
    private static func fault(
        _ counts: [FaultLayer.Call: Int], using random: inout SplitMix
    ) -> FaultLayer.Fault {
        let calls = counts.keys.sorted { $0.rawValue < $1.rawValue }
        let call = calls.randomElement(using: &random) ?? .write
        let actions: [FaultLayer.Action] =
            call == .write ? [.killBefore, .killAfter, .killTorn] : [.killBefore, .killAfter]
        return FaultLayer.Fault(
            call: call, number: Int.random(in: 1...max(1, counts[call] ?? 1), using: &random),
            action: actions.randomElement(using: &random) ?? .killBefore)
    }

    /// - Returns: whether the call was reached.
    private static func attempt(
        _ fault: FaultLayer.Fault, _ archivist: ArchiveDriver, _ random: inout SplitMix
    ) async throws -> Bool {
        var layer = FaultLayer(library: archivist.faultLayer, root: archivist.data)
        layer.fault = fault
        do {
            try await archivist.start(layer)
            try await archivist.settled()
        } catch is Rig.Died {
            return true
        }
        try await archivist.kill()
        return false
    }
}
