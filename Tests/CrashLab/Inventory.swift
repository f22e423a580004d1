import Messages

/// The oracle for the catalog: the possible states of every finished file, given all requests and answers.
///
/// A pure value. An answered request leaves one state for each of its files; an interrupted one leaves two: not executed, or
/// executed. The state later found on disk and in the catalog must be one of them.
struct Inventory: Sendable {
    struct State: Hashable, Sendable {
        var exists = true
        /// The receipt with which the file is marked.
        var receipt: Int?
    }

    private struct Entry {
        let file: CustodyFile
        var possible: Set<State> = [State()]
    }

    private var entries: [Entry]
    private let places: [String: Int]
    /// For each log named in a request, whether it may have been added.
    private var logs: [String: Set<Bool>] = [:]
    /// The automatic removal while the program runs.
    private var policy: CustodyPolicy?
    /// The files, in order, that interrupted removals would take; how far they came is unknown.
    private var plans: [[Int]] = []
    /// The bytes that such removals may leave if marks changed meanwhile, which makes the order unknown.
    private var floors: [Int] = []
    /// The most bytes that sessions may have beside these files: a policy counts them too.
    private let otherBytes: Int
    /// The sessions that are entirely gone, since none of their files was left.
    private var goneSessions: Set<String> = []
    /// Wrong answers and states.
    private(set) var findings = Findings()

    /// Files about which nothing was requested yet.
    /// - Parameter otherBytes: the most bytes that their sessions may have beside them.
    init(_ files: [CustodyFile], otherBytes: Int = 0) {
        self.otherBytes = otherBytes
        entries = files.map { Entry(file: $0) }
        places = Dictionary(uniqueKeysWithValues: files.enumerated().map { ($1.path, $0) })
    }

    /// The files that certainly exist, oldest first.
    var paths: [String] { entries.filter { $0.possible.allSatisfy(\.exists) }.map(\.file.path) }
    /// The files that certainly exist and are certainly marked, or certainly not.
    func paths(marked isMarked: Bool) -> [String] {
        entries.filter { $0.possible.allSatisfy { $0.exists && ($0.receipt != nil) == isMarked } }.map(\.file.path)
    }
    /// The bytes of the files that may exist.
    var totalBytes: Int { entries.filter { $0.possible.contains(where: \.exists) }.reduce(0) { $0 + $1.file.bytes } }
    /// The logs that have files.
    var logNames: [String] { Set(entries.map(\.file.log)).sorted() }
    /// The logs that were certainly added.
    var addedLogs: [String] { logs.filter { $0.value == [true] }.keys.sorted() }

    // MARK: Requests

    /// Notes the start of a program, and its automatic removal, if any.
    mutating func begin(_ policy: CustodyPolicy?) {
        self.policy = policy
        guard let policy else { return }
        if let plan = plan(
            freeing: totalBytes + otherBytes - policy.total, marked: policy.takesPending ? [true, false] : [true])
        {
            plans.append(plan)
            for place in plan { mayGo(place) }
        } else {
            loosen(policy)
        }
    }

    /// Notes a request and its answer; nil if the program ended before.
    mutating func take(_ request: CatalogRequest, _ answer: CatalogRequest.Answer?) {
        switch request {
        case .mark(let paths, let receipt): change(paths, to: receipt, answer)
        case .unmark(let paths): change(paths, to: nil, answer)
        case .removeUploaded(let paths): removeUploaded(paths, answer)
        case .removeTo(let bytes):
            remove(plan(freeing: totalBytes - bytes, marked: [true, false]), floor: bytes, answer, request)
        case .remove(let log):
            remove(plan(freeing: .max, marked: [true, false], log: log), floor: nil, answer, request)
            logs[log] = answer == nil ? logs[log, default: [true]].union([false]) : [false]
        case .add(let log):
            logs[log] = answer == nil ? logs[log, default: [false]].union([true]) : [true]
        }
    }

    private mutating func change(_ paths: [String], to receipt: Int?, _ answer: CatalogRequest.Answer?) {
        // Marks determine the order of removal, so from now on the files of a concurrent removal are unknown.
        if let policy { loosen(policy) }
        for place in paths.compactMap({ places[$0] }) {
            let before = entries[place].possible
            let path = entries[place].file.path
            let after = Set(before.filter(\.exists).map { _ in State(receipt: receipt) })
            switch answer {
            case .outcome(let done, _) where done.contains(path):
                if after.isEmpty { violate(\.lost, "\(path) is gone, and was marked or unmarked") }
                entries[place].possible = after
                if policy.map({ $0.takesPending || receipt != nil }) ?? false { mayGo(place) }
            case .outcome(_, let refused) where refused.contains(path):
                expect(place, "was refused, and is there") { !$0.exists }
            case nil:
                entries[place].possible.formUnion(after)
                if policy.map({ $0.takesPending || receipt != nil }) ?? false { mayGo(place) }
            default: violate(\.unexplained, "nothing was answered of \(path): \(answer as Any)")
            }
        }
    }

    private mutating func removeUploaded(_ paths: [String], _ answer: CatalogRequest.Answer?) {
        for place in paths.compactMap({ places[$0] }) {
            let path = entries[place].file.path
            let removable = entries[place].possible.filter { $0.exists && $0.receipt != nil }
            let gone = Set(removable.map { State(exists: false, receipt: $0.receipt) })
            switch answer {
            case .outcome(let done, _) where done.contains(path):
                if gone.isEmpty { violate(\.lost, "\(path) was removed, and was not marked") }
                entries[place].possible = gone
            case .outcome(_, let refused) where refused.contains(path):
                expect(place, "was refused, and is marked") { !$0.exists || $0.receipt == nil }
            case nil: entries[place].possible.formUnion(gone)
            default: violate(\.unexplained, "nothing was answered of \(path): \(answer as Any)")
            }
        }
    }

    private mutating func remove(
        _ plan: [Int]?, floor: Int?, _ answer: CatalogRequest.Answer?, _ request: CatalogRequest
    ) {
        switch answer {
        case .removed(let paths):
            if let plan {
                let wanted = Set(plan.map { entries[$0].file.path })
                let strange = wanted.symmetricDifference(paths).sorted()
                if !strange.isEmpty || wanted.count != paths.count {
                    violate(\.lost, "\(request) removed \(paths.count) files instead of \(wanted.count): \(strange)")
                }
            }
            for place in paths.compactMap({ places[$0] }) {
                entries[place].possible = Set(
                    entries[place].possible.map { State(exists: false, receipt: $0.receipt) })
            }
        case nil:
            if let plan {
                plans.append(plan)
                for place in plan { mayGo(place) }
            } else {
                if let floor { floors.append(floor) }
                for place in entries.indices { mayGo(place) }
            }
        default: violate(\.unexplained, "\(request) was answered by \(answer as Any)")
        }
    }

    /// The files to remove to free this many bytes; nil if the state is not certain.
    private func plan(freeing bytes: Int, marked order: [Bool], log: String? = nil) -> [Int]? {
        guard entries.allSatisfy({ $0.possible.count == 1 }) else { return nil }
        var left = bytes
        var plan: [Int] = []
        for isMarked in order {
            for (place, entry) in entries.enumerated() where left > 0 {
                guard let state = entry.possible.first, state.exists, (state.receipt != nil) == isMarked,
                    log == nil || log == entry.file.log
                else { continue }
                plan.append(place)
                left -= entry.file.bytes
            }
        }
        return plan
    }

    private mutating func mayGo(_ place: Int) {
        entries[place].possible.formUnion(
            entries[place].possible.map { State(exists: false, receipt: $0.receipt) })
    }

    /// Discards the plan for automatic removal.
    private mutating func loosen(_ policy: CustodyPolicy) {
        plans = []
        floors.append(policy.total - otherBytes)
        for place in entries.indices
        where policy.takesPending || entries[place].possible.contains(where: { $0.receipt != nil }) {
            mayGo(place)
        }
    }

    // MARK: Disk contents

    /// Checks the disk while no program runs: missing files may be missing, and their sessions already list the removal.
    mutating func glance(_ disk: CustodyView) {
        for session in Set(entries.map(\.file.session)).subtracting(disk.sessions).subtracting(goneSessions) {
            let isLeft = entries.contains { $0.file.session == session && disk.disk[$0.file.path] != nil }
            if policy == nil || isLeft {
                violate(\.lost, "session \(session) is gone, and no request or policy removed it")
            }
            // The rest of a session is removed only if all its removed files may be removed for the same reason.
            for place in entries.indices where entries[place].file.session == session && policy?.takesPending == false {
                expect(place, "was not uploaded, and its session is gone") { !$0.exists && $0.receipt != nil }
            }
            goneSessions.insert(session)
        }
        for entry in entries where disk.disk[entry.file.path] == nil {
            if entry.possible.allSatisfy(\.exists) {
                violate(\.lost, "\(entry.file.path) is gone, and no request or policy removed it")
            }
            if !isGone(entry.file.session, disk), disk.removed[entry.file.path] == nil {
                violate(\.unexplained, "\(entry.file.path) is gone, and its session does not say so")
            }
        }
    }

    /// Compares the state with the possible ones, and takes it as certain from then on.
    mutating func settle(_ view: CustodyView) {
        findings.samples += entries.count
        for session in view.unfinished { violate(\.unexplained, "session \(session) was not removed to the end") }
        for session in Set(entries.map(\.file.session)).subtracting(view.sessions).subtracting(goneSessions) {
            violate(\.lost, "session \(session) is gone, and no request or policy removed it")
        }
        let listed = Dictionary(view.listed.map { ($0.path, $0) }) { first, _ in first }
        let before = entries
        var gone: Set<Int> = []
        for place in entries.indices {
            let file = entries[place].file
            var state = State(exists: view.disk[file.path] != nil)
            if (listed[file.path] != nil) != state.exists {
                violate(
                    \.unexplained,
                    "\(file.path) is \(state.exists ? "" : "not ")there, and is \(state.exists ? "not " : "")listed")
            }
            if state.exists {
                settle(file, listed[file.path], &state, view)
            } else {
                gone.insert(place)
                settleGone(file, before[place].possible, &state, view)
            }
            entries[place].possible = [state]
        }
        settleOrder(view)
        settleSums(view)
        settlePlans(before.map { $0.possible.allSatisfy { !$0.exists } }, gone)
        settleNames(view)
    }

    /// A log has a name if it was added or has files; if it has files, the name does not show whether it was added.
    private mutating func settleNames(_ view: CustodyView) {
        let haveFiles = Set(entries.filter { $0.possible.contains(where: \.exists) }.map(\.file.log))
        for log in haveFiles.union(logs.keys).union(view.names) {
            let isNamed = view.names.contains(log)
            let possible = logs[log, default: [false]]
            if haveFiles.contains(log) ? !isNamed : !possible.contains(isNamed) {
                violate(\.unexplained, "log \(log) is \(isNamed ? "" : "not ")there")
            }
            logs[log] = haveFiles.contains(log) ? possible : [isNamed]
        }
    }

    private mutating func settle(
        _ file: CustodyFile, _ listed: CustodyView.Listed?, _ state: inout State, _ view: CustodyView
    ) {
        if view.disk[file.path] != file.bytes { violate(\.unexplained, "\(file.path) has another size") }
        if view.removed[file.path] != nil { violate(\.unexplained, "\(file.path) is there, and said to be removed") }
        guard let listed, let place = places[file.path] else { return }
        if listed.bytes != file.bytes { violate(\.unexplained, "\(file.path) is listed with another size") }
        if case .object(let members) = listed.receipt, case .integer(let number) = members["id"] {
            state.receipt = number
        }
        let possible = entries[place].possible
        if listed.isUploaded != (state.receipt != nil) || !possible.contains(state) {
            violate(
                \.duplicated,
                "\(file.path) is \(listed.isUploaded ? "" : "not ")marked, receipt \(listed.receipt as Any), and may be "
                    + "\(possible.map { "\($0.exists ? "there" : "gone") \($0.receipt.map(String.init) ?? "-")" })")
        }
    }

    private mutating func settleGone(
        _ file: CustodyFile, _ possible: Set<State>, _ state: inout State, _ view: CustodyView
    ) {
        let possible = possible.filter { !$0.exists }
        if possible.isEmpty { violate(\.lost, "\(file.path) is gone, and no request or policy removed it") }
        if isGone(file.session, view) {
            // Nothing is left that shows whether the file was marked.
            state.receipt = possible.first?.receipt
            return
        }
        guard let line = view.removed[file.path]?.last else {
            return violate(\.unexplained, "\(file.path) is gone, and its session does not say so")
        }
        state.receipt = line.receipt
        if line.bytes != file.bytes || (line.sha256 ?? file.sha256) != file.sha256 {
            violate(\.unexplained, "\(file.path) is said to be removed with other bytes: \(line)")
        }
        if line.isUploaded != (line.receipt != nil) || (!possible.isEmpty && !possible.contains(state)) {
            violate(\.duplicated, "\(file.path) is said to be removed with another mark: \(line), \(possible)")
        }
    }

    private mutating func settleOrder(_ view: CustodyView) {
        var last = -1
        for file in view.listed {
            guard let place = places[file.path] else {
                violate(\.unexplained, "\(file.path) is listed, and there was never such a file")
                continue
            }
            if place <= last { violate(\.unexplained, "\(file.path) is listed in the wrong place") }
            last = place
        }
        for path in view.disk.keys where places[path] == nil {
            violate(\.unexplained, "\(path) is there, and was not")
        }
    }

    private mutating func settleSums(_ view: CustodyView) {
        let total = view.disk.values.reduce(0, +)
        let pending = entries.filter { $0.possible == [State()] }.reduce(0) { $0 + $1.file.bytes }
        if view.totalBytes != total || view.pendingBytes != pending {
            violate(
                \.unexplained,
                "usage says \(view.totalBytes) bytes, \(view.pendingBytes) of them pending, and there are \(total), "
                    + "\(pending) of them pending")
        }
    }

    /// An interrupted removal must have taken the first files of its plan, and no more than necessary.
    private mutating func settlePlans(_ wasGone: [Bool], _ gone: Set<Int>) {
        for plan in plans {
            let kept = plan.prefix { gone.contains($0) }.count
            if let late = plan[kept...].first(where: gone.contains) {
                violate(
                    \.lost,
                    "\(entries[late].file.path) was removed before \(entries[plan[kept]].file.path), whose turn it was")
            }
        }
        if let floor = floors.min() {
            let sizes = entries.indices.filter { gone.contains($0) && !wasGone[$0] }.map { entries[$0].file.bytes }
            if let largest = sizes.max(), totalBytes + largest <= floor {
                violate(\.lost, "\(totalBytes) bytes are left, and \(floor) might have been")
            }
        }
        plans = []
        floors = []
    }

    // MARK: -

    private func isGone(_ session: String, _ view: CustodyView) -> Bool {
        goneSessions.contains(session) && !view.sessions.contains(session)
    }

    /// Notes a finding of another check of a session.
    mutating func note(unreadable sentence: String) { violate(\.unreadable, sentence) }

    private mutating func expect(_ place: Int, _ what: String, _ condition: (State) -> Bool) {
        let possible = entries[place].possible.filter(condition)
        if possible.isEmpty { return violate(\.unexplained, "\(entries[place].file.path) \(what)") }
        entries[place].possible = possible
    }

    private mutating func violate(_ count: WritableKeyPath<Findings, Int>, _ sentence: String) {
        findings[keyPath: count] += 1
        findings.violate(sentence)
    }
}
