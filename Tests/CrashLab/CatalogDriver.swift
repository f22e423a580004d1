import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport

/// A log-manager that is queried, killed and restarted, and the inventory with which it is compared.
///
/// Confined to the task of one experiment.
final class CatalogDriver {
    let data: FilePath
    var inventory: Inventory
    private let lab: Laboratory
    private let victim: Victim
    private let endpoints: (publish: String, reply: String, recorder: String)
    private(set) var program: ProgramUnderTest?
    private var client: RequestClient?

    private init(
        _ lab: Laboratory, data: FilePath, victim: Victim, endpoints: (publish: String, reply: String, recorder: String)
    ) throws {
        self.lab = lab
        self.data = data
        self.victim = victim
        self.endpoints = endpoints
        let files = try CustodyFile.all(in: data)
        // By then the list of removed files exists, with a line of less than 400 bytes for each.
        inventory = Inventory(files, otherBytes: try CustodyFile.otherBytes(in: data) + 400 * files.count)
    }

    /// Lends a log-manager that is not started yet, with its own copy of the sessions. The copy is kept if an error is thrown or
    /// something is found.
    static func run(
        on template: FilePath, at data: FilePath, in lab: Laboratory, _ body: (CatalogDriver) async throws -> Void
    ) async throws {
        try copySessions(from: template, to: data)
        let victim = Victim(lab.programs.appending("log-manager"))
        let endpoints = try FreePort.endpoints(3)
        let custodian = try CatalogDriver(
            lab, data: data, victim: victim, endpoints: (endpoints[0], endpoints[1], endpoints[2]))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await victim.run() }
            defer { tasks.cancelAll() }
            try await body(custodian)
        }
        if custodian.inventory.findings.violations.isEmpty {
            try? FileManager.default.removeItem(atPath: data.string)
        }
    }

    /// Copies files with their times. Not hard links: log-manager does not touch files that have other links.
    private static func copySessions(from template: FilePath, to data: FilePath) throws {
        for session in try SessionFiles.sessions(in: template) {
            let part = FilePath(CustodyFile.recordings).appending(session)
            let (from, to) = (template.pushing(part), data.pushing(part))
            try FileManager.default.createDirectory(atPath: to.string, withIntermediateDirectories: true)
            for name in try FileManager.default.contentsOfDirectory(atPath: from.string) {
                let path = from.appending(name).string
                try Data(contentsOf: URL(filePath: path)).write(to: URL(filePath: to.appending(name).string))
                if let date = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] {
                    try FileManager.default.setAttributes(
                        [.modificationDate: date], ofItemAtPath: to.appending(name).string)
                }
            }
        }
    }

    // MARK: The program

    var replyEndpoint: String { endpoints.reply }

    /// Starts log-manager without waiting until it is ready.
    @discardableResult
    func start(_ layer: FaultLayer? = nil, options: [String] = []) async throws -> ProgramUnderTest {
        let program = try await victim.start(
            ["--data", data.string, "--publish", endpoints.publish, "--reply", endpoints.reply, "--subscribe"]
                + [endpoints.recorder, "--log-level", "warning"] + options,
            environment: layer?.environment ?? [:])
        self.program = program
        return program
    }

    /// Waits until log-manager answers.
    /// - Throws: `Rig.Died` if it was killed before.
    func ready() async throws {
        guard let program else { throw Violation("no log-manager was started") }
        do {
            _ = try await program.ready()
        } catch {
            guard try await program.end() == .killed(by: 9) else { throw Violation("\(error)") }
            throw Rig.Died()
        }
        // Not earlier: a client that finds no program waits before it reconnects.
        client = try lab.client(of: "log-manager", at: endpoints.reply)
    }

    func kill() async throws {
        guard let program else { return }
        try? program.send(.kill)
        let end = try await program.end()
        guard end == .killed(by: 9) else {
            throw Violation("log-manager \(end) by itself before it was killed:\n\(program.standardError)")
        }
    }

    // MARK: Requests

    /// Sends a request, and notes the answer or its absence in the inventory.
    /// - Throws: `Rig.Died` if log-manager was killed before it answered.
    func ask(_ request: CatalogRequest) async throws {
        do {
            let answer = try await answer(to: request)
            inventory.take(request, answer)
        } catch is Rig.Died {
            inventory.take(request, nil)
            throw Rig.Died()
        }
    }

    private func answer(to request: CatalogRequest) async throws -> CatalogRequest.Answer {
        func outcome(_ outcome: LogFileOutcome) -> CatalogRequest.Answer {
            .outcome(done: outcome.done, refused: outcome.refused.map(\.path))
        }
        do {
            switch request {
            case .mark(let paths, let receipt):
                return outcome(
                    try await send(LogsMarkUploaded(paths: paths, receipt: CatalogRequest.receipt(receipt))))
            case .unmark(let paths): return outcome(try await send(LogsUnmarkUploaded(paths: paths)))
            case .removeUploaded(let paths): return outcome(try await send(LogsRemoveUploaded(paths: paths)))
            case .removeTo(let bytes): return .removed(try await send(LogsRemoveOldAndUploaded(bytes: bytes)).removed)
            case .add(let log):
                _ = try await send(LogsAdd(name: log))
                return .done
            case .remove(let log):
                return .removed(try await send(LogsRemove(name: log, deleteFiles: true)).removed)
            }
        } catch let error as RequestError {
            return .refused("\(error)")
        }
    }

    private func send<Question: Request>(_ question: Question) async throws -> Question.Reply {
        guard let program, let client else { throw Violation("no log-manager was started") }
        return try await Rig.ask(question, of: program, through: client)
    }

    /// Waits until log-manager's automatic clean-up is done.
    func settled() async throws {
        var totals: [Int] = []
        try await eventually("the end of a clean-up") {
            totals.append(try await send(LogsUsage()).totalBytes)
            return totals.count > 5 && Set(totals.suffix(5)).count == 1
        }
    }

    /// log-manager's answers beside the state of the disk. The usage comes first: it is right as soon as there are answers.
    func view() async throws -> CustodyView {
        let usage = try await send(LogsUsage())
        let files = try await send(LogsList()).files
        var view = try CustodyView(disk: data)
        view.totalBytes = usage.totalBytes
        view.pendingBytes = usage.pendingUploadBytes
        view.listed = files.map {
            CustodyView.Listed(path: $0.path, bytes: $0.bytes, isUploaded: $0.uploaded, receipt: $0.receipt)
        }
        view.names = try await send(LogsNames()).names
        return view
    }

    /// Runs `recorder verify` on every session: removed files are not damage, and nothing else may be missing.
    func verify() async throws {
        for session in try SessionFiles.sessions(in: data) {
            let directory = data.appending(CustodyFile.recordings).appending(session)
            let (end, text) = try await lab.output(of: "recorder", ["verify", directory.string])
            if end != .exited(0) {
                inventory.note(unreadable: "recorder verify \(directory) \(end):\n\(text.suffix(2_000))")
            }
        }
    }
}
