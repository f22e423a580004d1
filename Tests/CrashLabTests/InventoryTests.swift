import Messages
import Testing

@testable import CrashLab

/// The catalog oracle's findings for the remains of four files, `a` the oldest, of 10 bytes each.
@Suite(.timeLimit(.minutes(5)))
struct InventoryTests {
    private static let names = ["a", "b", "c", "d"]

    private static func inventory() -> Inventory {
        Inventory(
            names.enumerated().map { number, name in
                CustodyFile(
                    path: name, session: "s", log: name == "d" ? "gyro" : "accelerometer", bytes: 10,
                    sha256: "0\(name)",
                    finished: Int64(number))
            })
    }

    /// A correct state: some files, the receipts of the marked ones, and lines for the removed ones.
    private static func view(
        _ files: [String], marked: [String: Int] = [:], removedMarks: [String: Int] = [:]
    ) -> CustodyView {
        let gone = names.filter { !files.contains($0) }
        var view = CustodyView(
            disk: Dictionary(uniqueKeysWithValues: files.map { ($0, 10) }),
            removed: Dictionary(
                uniqueKeysWithValues: gone.map { name in
                    let mark = removedMarks[name]
                    return (
                        name,
                        [CustodyView.Removed(bytes: 10, sha256: "0\(name)", isUploaded: mark != nil, receipt: mark)]
                    )
                }), sessions: ["s"])
        view.names = Set(files.map { $0 == "d" ? "gyro" : "accelerometer" }).sorted()
        view.listed = files.map { name in
            CustodyView.Listed(
                path: name, bytes: 10, isUploaded: marked[name] != nil,
                receipt: marked[name].map(CatalogRequest.receipt))
        }
        view.totalBytes = 10 * files.count
        view.pendingBytes = 10 * files.count { marked[$0] == nil }
        return view
    }

    /// A request and its answer.
    private typealias Exchange = (CatalogRequest, CatalogRequest.Answer?)

    private static func findings(
        _ view: CustodyView, after requests: [Exchange] = [],
        policy: CustodyPolicy? = nil
    ) -> Findings {
        var inventory = inventory()
        inventory.begin(nil)
        for (request, answer) in requests { inventory.take(request, answer) }
        if let policy { inventory.begin(policy) }
        inventory.settle(view)
        return inventory.findings
    }

    private static let marked: Exchange = (
        .mark(["a", "c"], receipt: 7), .outcome(done: ["a", "c"], refused: [])
    )

    @Test func whatWasAnsweredIsThere() {
        let view = Self.view(Self.names, marked: ["a": 7, "c": 7])
        #expect(Self.findings(view, after: [Self.marked]).violations.isEmpty)
        #expect(Self.findings(Self.view(Self.names), after: [Self.marked]).duplicated == 2)
        #expect(Self.findings(Self.view(Self.names, marked: ["a": 7, "c": 8]), after: [Self.marked]).duplicated == 1)
        #expect(Self.findings(view).duplicated == 2)
    }

    @Test func whatWasCutOffMayBeThereOrNot() {
        let request: [Exchange] = [(Self.marked.0, nil)]
        for marked in [[:], ["a": 7], ["a": 7, "c": 7]] {
            #expect(Self.findings(Self.view(Self.names, marked: marked), after: request).violations.isEmpty)
        }
        #expect(Self.findings(Self.view(Self.names, marked: ["b": 7]), after: request).duplicated == 1)
    }

    @Test func aMarkThatWasTakenBackStaysSo() {
        let requests: [Exchange] = [
            Self.marked, (.unmark(["a"]), .outcome(done: ["a"], refused: [])),
        ]
        #expect(Self.findings(Self.view(Self.names, marked: ["c": 7]), after: requests).violations.isEmpty)
        #expect(Self.findings(Self.view(Self.names, marked: ["a": 7, "c": 7]), after: requests).duplicated == 1)
    }

    @Test func aFileGoesOnlyWhenSomebodyAsked() {
        #expect(Self.findings(Self.view(["a", "b", "d"])).lost == 1)
        // A file that is not marked can't have been removed as uploaded, even by an interrupted request.
        let cutOff: [Exchange] = [Self.marked, (.removeUploaded(["a", "b"]), nil)]
        let left = Self.view(["b", "c", "d"], marked: ["c": 7], removedMarks: ["a": 7])
        #expect(Self.findings(left, after: cutOff).violations.isEmpty)
        #expect(
            Self.findings(Self.view(["c", "d"], marked: ["c": 7], removedMarks: ["a": 7]), after: cutOff).lost == 1)
        // Files whose removal was answered stay gone.
        let done: [Exchange] = [Self.marked, (.removeUploaded(["a"]), .outcome(done: ["a"], refused: []))]
        #expect(Self.findings(Self.view(Self.names, marked: ["a": 7, "c": 7]), after: done).duplicated == 1)
    }

    @Test func removalsKeepTheirOrder() {
        // Down to 10 bytes: the marked file first, then the oldest two.
        let mark: Exchange = (.mark(["c"], receipt: 7), .outcome(done: ["c"], refused: []))
        let cutOff: [Exchange] = [mark, (.removeTo(bytes: 10), nil)]
        for left in [["a", "b", "d"], ["b", "d"], ["d"]] {
            #expect(Self.findings(Self.view(left, removedMarks: ["c": 7]), after: cutOff).violations.isEmpty, "\(left)")
        }
        #expect(Self.findings(Self.view(["a", "d"], removedMarks: ["c": 7]), after: cutOff).lost == 1)
        #expect(Self.findings(Self.view(["b", "c", "d"], marked: ["c": 7]), after: cutOff).lost == 1)
        #expect(Self.findings(Self.view([], removedMarks: ["c": 7]), after: cutOff).lost == 1)
        let answered: [Exchange] = [mark, (.removeTo(bytes: 10), .removed(["c", "a"]))]
        #expect(Self.findings(Self.view(["b", "d"], removedMarks: ["c": 7]), after: answered).lost == 1)
    }

    @Test func aPolicyTakesNoMoreThanItMay() {
        let policy = CustodyPolicy(takesPending: false, total: 5)
        let view = Self.view(["b", "d"], removedMarks: ["a": 7, "c": 7])
        #expect(Self.findings(view, after: [Self.marked], policy: policy).violations.isEmpty)
        let tooMany = Self.view(["d"], removedMarks: ["a": 7, "c": 7])
        #expect(Self.findings(tooMany, after: [Self.marked], policy: policy).lost == 1)
        // With marks meanwhile, the removed files are unknown, but not how many bytes must be left.
        var inventory = Self.inventory()
        inventory.begin(CustodyPolicy(takesPending: true, total: 25))
        inventory.take(.mark(["d"], receipt: 1), .outcome(done: ["d"], refused: []))
        var other = inventory
        inventory.settle(Self.view(["a", "b"], removedMarks: ["d": 1]))
        #expect(inventory.findings.violations.isEmpty)
        other.settle(Self.view(["a"], removedMarks: ["d": 1]))
        #expect(other.findings.lost == 1)
    }

    @Test func logsThatWereAddedOrHaveFilesHaveNames() {
        var view = Self.view(Self.names)
        view.names = ["gyro"]
        #expect(Self.findings(view).unexplained == 1)
        view.names = ["accelerometer", "gyro", "strange"]
        #expect(Self.findings(view).unexplained == 1)
        // Whether the log was added is known only once it has no files.
        let gone: [Exchange] = [(.removeTo(bytes: 30), .removed(["d"]))]
        let added: [Exchange] = [(.add(log: "gyro"), .done), (.remove(log: "gyro"), .removed(["d"]))]
        view = Self.view(["a", "b", "c"])
        #expect(Self.findings(view, after: added).violations.isEmpty)
        #expect(Self.findings(view, after: [added[0], (.remove(log: "gyro"), nil)]).violations.isEmpty)
        view.names = ["accelerometer", "gyro"]
        #expect(Self.findings(view, after: added).unexplained == 1)
        #expect(Self.findings(view, after: gone).unexplained > 0)
    }

    @Test func aSessionGoesAsAWholeOnlyIfNothingIsLeftOfIt() {
        func findings(_ policy: CustodyPolicy?, marked: Bool = true, sessions: Set<String> = []) -> Findings {
            var inventory = Self.inventory()
            if marked {
                inventory.begin(nil)
                inventory.take(.mark(Self.names, receipt: 7), .outcome(done: Self.names, refused: []))
            }
            inventory.begin(policy)
            var view = CustodyView(disk: [:], sessions: sessions)
            inventory.glance(view)
            view.unfinished = sessions.isEmpty ? [] : ["~s"]
            inventory.begin(nil)
            inventory.settle(view)
            return inventory.findings
        }
        #expect(findings(CustodyPolicy(takesPending: false, total: 0)).violations.isEmpty)
        #expect(findings(CustodyPolicy(takesPending: true, total: 0), marked: false).violations.isEmpty)
        #expect(!findings(CustodyPolicy(takesPending: false, total: 0), marked: false).violations.isEmpty)
        #expect(!findings(nil).violations.isEmpty)
        #expect(!findings(CustodyPolicy(takesPending: true, total: 0), sessions: ["s"]).violations.isEmpty)
    }

    @Test func countsAndListsAreThoseOfTheDisk() {
        var view = Self.view(Self.names)
        view.pendingBytes = 0
        #expect(Self.findings(view).unexplained == 1)
        view = Self.view(Self.names)
        view.listed.removeLast()
        #expect(Self.findings(view).unexplained == 1)
        view = Self.view(Self.names)
        view.listed.swapAt(1, 2)
        #expect(Self.findings(view).unexplained == 1)
        // The file is gone, and its session does not list the removal.
        view = Self.view(["b", "c", "d"])
        view.removed = [:]
        #expect(Self.findings(view, after: [(.removeTo(bytes: 30), .removed(["a"]))]).unexplained == 1)
    }
}
