import FoundationEssentials
import SystemPackage
import TestSupport

/// kill -9 of log-manager while files are marked, unmarked and removed, on request and automatically, and while it completes what
/// an earlier kill interrupted: at any of its file calls, including SQLite's, before it, after it, and in the middle of a write.
struct CatalogExperiment: Experiment {
    let name = "custody"
    let fault = "kill -9 of log-manager at one of its file calls, while it marks, removes and recovers"

    private enum Work: CaseIterable {
        /// All kinds of requests, with a catalog that has all files.
        case requests
        /// The same while log-manager builds its first catalog.
        case firstStart
        /// Automatic removal.
        case policy
        /// Automatic removal while files are marked and unmarked.
        case policyWithMarks
    }

    func run(in lab: Laboratory, row: inout Row) async throws {
        var random = lab.random(for: name)
        var template = FilePath("")
        try await Rig.run(name, in: lab, row: &row) { rig, row in
            template = rig.data
            try await Self.record(with: rig)
            var counts: [Work: [FaultLayer.Call: Int]] = [:]
            for work in Work.allCases {
                counts[work] = try await Self.calls(of: work, on: template, rig, &random)
            }
            var reached = 0
            var again = 0
            // A long run makes as many tries as it crashes recorders in all; a short run has five minutes for all experiments.
            let wanted = lab.crashes >= 500 ? lab.crashes : lab.share(0.4, atLeast: 12)
            for number in 0..<wanted where row.violations.isEmpty {
                row.tries += 1
                let work = number < Work.allCases.count ? Work.allCases[number] : Self.work(using: &random)
                let fault = Self.fault(counts[work] ?? [:], using: &random)
                let data = rig.directory.appending("data-\(number)")
                do {
                    try await CatalogDriver.run(on: template, at: data, in: lab) { custodian in
                        let kills = try await Self.attempt(work, fault, custodian, lab, &row, &random)
                        if kills.isReached { reached += 1 }
                        again += kills.inRecovery
                        row.add(custodian.inventory.findings)
                    }
                } catch {
                    throw Violation("\(work), \(fault.map { "\($0)" } ?? "at a moment"): \(error)")
                }
                if !row.violations.isEmpty {
                    row.violations.append("\(work), \(fault.map { "\($0)" } ?? "at a moment"): see \(data)")
                }
            }
            row.notes.append(
                "\(reached) of \(row.tries) calls were reached, and \(again) more in recoveries; samples are files here, "
                    + "lost those that went without reason, duplicated wrong marks, unexplained wrong counts")
        }
    }

    // MARK: Sessions

    /// Records three sessions of many small files.
    static func record(with rig: Rig) async throws {
        _ = try await rig.startRecorder().ready()
        try await rig.start("a", SessionPlan(streams: ["left-wrist/"], format: "csv", maximumFileSize: 1_500))
        try await Task.sleep(for: .milliseconds(400))
        try await rig.start("b", SessionPlan(streams: ["phone/"], maximumFileSize: 4_000))
        try await rig.start(
            "c",
            SessionPlan(streams: ["phone/accelerometer", "left-wrist/gyro"], format: "tsv", maximumFileSize: 3_000))
        try await Task.sleep(for: .milliseconds(600))
        for session in ["a", "b", "c"] {
            try await rig.stop(session)
            rig.forget(session)
        }
        try await rig.terminateRecorder()
    }

    // MARK: Faults

    private static func work(using random: inout SplitMix) -> Work {
        random.happens(0.5) ? .requests : Work.allCases.randomElement(using: &random) ?? .requests
    }

    /// How often a log-manager makes each kind of call for such work.
    private static func calls(
        of work: Work, on template: FilePath, _ rig: Rig, _ random: inout SplitMix
    ) async throws -> [FaultLayer.Call: Int] {
        var counts: [FaultLayer.Call: Int] = [:]
        try await CatalogDriver.run(on: template, at: rig.directory.appending("counted"), in: rig.lab) { custodian in
            let policy = try await prepare(work, custodian, &random)
            var layer = FaultLayer(library: rig.lab.faultLayer, root: custodian.data)
            let trace = rig.directory.appending("trace")
            layer.trace = trace
            try await custodian.start(layer, options: policy?.options ?? [])
            try await custodian.ready()
            try await carryOut(work, custodian, &random)
            try await custodian.kill()
            counts = try DiskTrace(trace).counts
        }
        return counts
    }

    /// The call at which log-manager is killed; nil for any moment.
    private static func fault(
        _ counts: [FaultLayer.Call: Int], using random: inout SplitMix
    ) -> FaultLayer.Fault? {
        if random.happens(0.1) { return nil }
        let calls = counts.keys.sorted { $0.rawValue < $1.rawValue }
        let call = random.happens(0.3) ? .write : calls.randomElement(using: &random) ?? .write
        let actions: [FaultLayer.Action] =
            call == .write ? [.killBefore, .killAfter, .killTorn] : [.killBefore, .killAfter]
        // Earlier calls are more likely: each try makes different requests, possibly with fewer calls than were counted.
        let place = Double.random(in: 0..<1, using: &random)
        return FaultLayer.Fault(
            call: call, number: 1 + Int(place * place * Double(counts[call] ?? 0)),
            action: actions.randomElement(using: &random) ?? .killBefore)
    }

    // MARK: A try

    /// - Returns: whether the fault was reached, and how many further kills hit the recovery.
    private static func attempt(
        _ work: Work, _ fault: FaultLayer.Fault?, _ custodian: CatalogDriver, _ lab: Laboratory, _ row: inout Row,
        _ random: inout SplitMix
    ) async throws -> (isReached: Bool, inRecovery: Int) {
        let policy = try await prepare(work, custodian, &random)
        var layer = FaultLayer(library: lab.faultLayer, root: custodian.data)
        layer.fault = fault
        custodian.inventory.begin(policy)
        let program = try await custodian.start(layer, options: policy?.options ?? [])
        var isReached = true
        do {
            try await custodian.ready()
            let moment = random.milliseconds(0...80)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                if fault == nil {
                    tasks.addTask {
                        try await Task.sleep(for: moment)
                        try? program.send(.kill)
                    }
                }
                defer { tasks.cancelAll() }
                try await carryOut(work, custodian, &random)
            }
            isReached = program.processIdentifier == nil
        } catch is Rig.Died {}
        try await custodian.kill()
        custodian.inventory.glance(try CustodyView(disk: custodian.data))

        // Kills log-manager up to two more times while it completes what was interrupted.
        var inRecovery = 0
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            var layer = FaultLayer(library: lab.faultLayer, root: custodian.data)
            let call = [FaultLayer.Call.write, .write, .sync, .syncall, .unlink, .create, .truncate].randomElement(
                using: &random)
            layer.fault = FaultLayer.Fault(
                call: call ?? .write, number: Int.random(in: 1...8, using: &random),
                action: [.killBefore, .killAfter, .killTorn].randomElement(using: &random) ?? .killAfter)
            try await custodian.start(layer, options: policy?.options ?? [])
            do {
                try await custodian.ready()
            } catch is Rig.Died {
                inRecovery += 1
            }
            try await custodian.kill()
            custodian.inventory.glance(try CustodyView(disk: custodian.data))
        }

        let start = ContinuousClock.now
        custodian.inventory.begin(nil)
        try await custodian.start(options: policy == nil ? [] : ["--total-threshold", "0"])
        try await custodian.ready()
        row.add(recovery: .now - start)
        custodian.inventory.settle(try await custodian.view())
        try await custodian.verify()
        // log-manager runs, so from now on the expected state is exact.
        if random.happens(0.25), custodian.inventory.findings.violations.isEmpty {
            for _ in 0..<3 { try await custodian.ask(request(custodian.inventory, &random)) }
            try await custodian.ask(.removeTo(bytes: 0))
            custodian.inventory.settle(try await custodian.view())
            try await custodian.verify()
        }
        try await custodian.kill()
        return (isReached, inRecovery)
    }

    /// Prepares the initial state: a catalog of all files, some of them marked.
    private static func prepare(
        _ work: Work, _ custodian: CatalogDriver, _ random: inout SplitMix
    ) async throws -> CustodyPolicy? {
        if work != .firstStart {
            try await custodian.start()
            try await custodian.ready()
            for log in custodian.inventory.logNames.prefix(2) { try await custodian.ask(.add(log: log)) }
            let marked = custodian.inventory.paths.filter { _ in random.happens(0.3) }
            try await custodian.ask(.mark(marked, receipt: 1))
            try await custodian.kill()
        }
        guard work == .policy || work == .policyWithMarks else { return nil }
        return CustodyPolicy(
            takesPending: random.happens(0.6),
            total: Int.random(in: 1...max(1, custodian.inventory.totalBytes * 9 / 10), using: &random))
    }

    /// Sends requests until log-manager dies, or enough were sent.
    private static func carryOut(_ work: Work, _ custodian: CatalogDriver, _ random: inout SplitMix) async throws {
        switch work {
        case .requests, .firstStart:
            for _ in 0..<5 { try await custodian.ask(request(custodian.inventory, &random)) }
        case .policy: try await custodian.settled()
        case .policyWithMarks:
            for _ in 0..<4 {
                let paths = some(custodian.inventory.paths + custodian.inventory.paths(marked: false), &random)
                try await custodian.ask(
                    random.happens(0.7) ? .mark(paths, receipt: Int.random(in: 2...99, using: &random)) : .unmark(paths)
                )
            }
            try await custodian.settled()
        }
    }

    /// A random request.
    private static func request(_ inventory: Inventory, _ random: inout SplitMix) -> CatalogRequest {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<3: .mark(some(inventory.paths, &random), receipt: Int.random(in: 2...99, using: &random))
        case 3: .unmark(some(inventory.paths(marked: true), &random))
        case 4, 5:
            .removeUploaded(
                some(inventory.paths(marked: true), &random) + some(inventory.paths(marked: false), &random, 2))
        case 6, 7: .removeTo(bytes: inventory.totalBytes * Int.random(in: 60...100, using: &random) / 100)
        default:
            if let log = inventory.addedLogs.randomElement(using: &random) {
                .remove(log: log)
            } else if let log = inventory.logNames.randomElement(using: &random) {
                .add(log: log)
            } else {
                .removeTo(bytes: 0)
            }
        }
    }

    /// A random choice of paths: one, a few or many.
    private static func some(_ paths: [String], _ random: inout SplitMix, _ limit: Int = .max) -> [String] {
        let most = [1, 5, paths.count].randomElement(using: &random) ?? 1
        return Array(Set(paths).sorted().shuffled(using: &random).prefix(min(most, limit)))
    }
}
