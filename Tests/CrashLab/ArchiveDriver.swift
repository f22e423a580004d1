import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport

/// An archiver that is killed and restarted while a log-manager stays running, and the possible states of every log file.
///
/// Confined to the task of one experiment.
final class ArchiveDriver {
    let data: FilePath
    /// The receiver's directory, inside of `data` so that the fault layer sees calls there too.
    let receiver: FilePath
    var faultLayer: FilePath { lab.faultLayer }
    private let lab: Laboratory
    private let custodian: CatalogDriver
    private let keys: StudyKeys?
    private let keepsArchives: Bool
    private let keepsRecordings: Bool
    /// The log files of the sessions before archiving.
    private let files: [CustodyFile]
    private let victim: Victim
    private let ports: (publish: String, reply: String)
    private var program: ProgramUnderTest?
    /// The objects seen at the receiver, by name, with their hashes.
    private var objects: [String: String] = [:]

    private init(
        beside custodian: CatalogDriver, in lab: Laboratory, keys: StudyKeys?, keepsArchives: Bool,
        keepsRecordings: Bool,
        victim: Victim
    ) throws {
        data = custodian.data
        receiver = custodian.data.appending("receiver")
        self.custodian = custodian
        self.lab = lab
        self.keys = keys
        self.keepsArchives = keepsArchives
        self.keepsRecordings = keepsRecordings
        self.victim = victim
        files = try CustodyFile.all(in: custodian.data)
        let endpoints = try FreePort.endpoints(2)
        ports = (endpoints[0], endpoints[1])
        try FileManager.default.createDirectory(atPath: receiver.string, withIntermediateDirectories: true)
    }

    /// Lends an archiver that is not started yet.
    static func run(
        beside custodian: CatalogDriver, in lab: Laboratory, keys: StudyKeys?, keepsArchives: Bool,
        keepsRecordings: Bool,
        _ body: (ArchiveDriver) async throws -> Void
    ) async throws {
        let victim = Victim(lab.programs.appending("archiver"))
        let archivist = try ArchiveDriver(
            beside: custodian, in: lab, keys: keys, keepsArchives: keepsArchives, keepsRecordings: keepsRecordings,
            victim: victim)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await victim.run() }
            defer { tasks.cancelAll() }
            try await body(archivist)
        }
    }

    private var sessions: [String] { Set(files.map(\.session)).sorted() }

    private func archiveName(of session: String) -> String { session + (keys == nil ? ".zip" : ".zip.p7m") }

    // MARK: The program

    /// Starts the archiver without waiting until it is ready.
    func start(_ layer: FaultLayer? = nil) async throws {
        var options = ["--data", data.string, "--publish", ports.publish, "--reply", ports.reply]
        options += ["--subscribe", "tcp://127.0.0.1:9", "--log-manager", custodian.replyEndpoint]
        options += ["--upload-to", "file://\(receiver)", "--log-level", "error"]
        if let keys { options += ["--certificate", keys.certificate.string] }
        if !keepsArchives { options += ["--keep-archives", "0s"] }
        if !keepsRecordings { options += ["--keep-recordings", "0s"] }
        program = try await victim.start(options, environment: layer?.environment ?? [:])
    }

    /// Waits until the archiver has nothing more to do.
    /// - Throws: `Rig.Died` if it was killed before.
    func settled() async throws {
        guard let program else { throw Violation("no archiver was started") }
        do {
            _ = try await program.ready()
        } catch {
            guard try await program.end() == .killed(by: 9) else { throw Violation("\(error)") }
            throw Rig.Died()
        }
        let client = try lab.client(of: "archiver", at: ports.reply)
        var list: [ArchiveStatus] = []
        do {
            try await eventually("every session is settled") {
                list = try await Rig.ask(ArchiveList(), of: program, through: client).archives
                return list.map(\.session) == self.sessions && list.allSatisfy { self.isSettled($0) }
            }
        } catch let failure as TestFailure {
            throw Violation("\(failure): \(list)\n\(program.standardError)")
        }
    }

    private func isSettled(_ status: ArchiveStatus) -> Bool {
        guard status.state == .marked, (status.path != nil) == keepsArchives,
            case .object(let receipt) = status.receipt
        else { return false }
        return keepsRecordings || receipt["removed"] != nil
    }

    func kill() async throws {
        guard let program else { return }
        try? program.send(.kill)
        let end = try await program.end()
        guard end == .killed(by: 9) else {
            throw Violation("the archiver \(end) by itself before it was killed:\n\(program.standardError)")
        }
    }

    func terminate() async throws {
        guard let program else { return }
        try program.send(.terminate)
        let end = try await program.end()
        guard end == .exited(0) else { throw Violation("the archiver \(end) at its end:\n\(program.standardError)") }
    }

    // MARK: Disk contents

    /// Checks the disk while no archiver runs: each missing file must be in a receipt, and no object may have changed.
    func glance() async throws {
        let seen = try names(in: receiver).filter { !$0.hasPrefix(".") }
        if let gone = objects.keys.first(where: { !seen.contains($0) }) {
            throw Violation("\(gone) at the receiver is gone")
        }
        for name in seen {
            let sha256 = try await Self.sha256(receiver.appending(name))
            guard objects[name, default: sha256] == sha256 else {
                throw Violation("\(name) at the receiver became another object")
            }
            objects[name] = sha256
        }
        for session in sessions {
            let receipt = try self.receipt(of: session)
            if let receipt {
                let archive = receipt["archives"]?.array?.first?["archive"]
                guard let name = archive?["name"]?.string, let sha256 = archive?["sha256"]?.string,
                    objects[name] == sha256
                else { throw Violation("the receipt of \(session) is not about the object at the receiver") }
            }
            let confirmed = Set(
                (receipt?["files"]?.array ?? []).compactMap { file in
                    file["name"]?.string.flatMap { name in file["sha256"]?.string.map { "\(name) \($0)" } }
                })
            for file in files where file.session == session && !exists(file.path) {
                let name = FilePath(file.path).lastComponent?.string ?? ""
                guard confirmed.contains("\(name) \(file.sha256)") else {
                    throw Violation("\(file.path) is gone, and no receipt has it")
                }
            }
        }
    }

    /// Compares the final state with the expected one.
    /// - Returns: how many log files were found in archives.
    func verify() async throws -> Int {
        try await glance()
        let names = sessions.map { archiveName(of: $0) }
        guard Set(objects.keys) == Set(names) else {
            throw Violation("the receiver has \(objects.keys.sorted()) in place of \(names)")
        }
        let expected = sessions.map { "\($0).receipt.json" } + (keepsArchives ? names : [])
        let left = try self.names(in: data.appending("archives"))
        guard Set(left) == Set(expected) else { throw Violation("archives has \(left.sorted())") }
        for session in sessions where try receipt(of: session)?["marked"]?.string == nil {
            throw Violation("the files of \(session) are not marked")
        }
        try await verifyMarks()
        for session in sessions { try await verifyArchive(of: session) }
        return files.count
    }

    private func verifyMarks() async throws {
        let view = try await custodian.view()
        let listed = Dictionary(view.listed.map { ($0.path, $0.isUploaded) }) { first, _ in first }
        for file in files {
            switch (keepsRecordings, exists(file.path), listed[file.path]) {
            case (true, true, true?), (false, false, nil): break
            default: throw Violation("\(file.path): there \(exists(file.path)), marked \(listed[file.path] as Any)")
            }
        }
    }

    /// Extracts an archive from the receiver, and compares it with the recorded files.
    private func verifyArchive(of session: String) async throws {
        let target = data.appending("extracted-\(session)")
        let archive = receiver.appending(archiveName(of: session))
        let (end, text) = try await lab.output(
            of: "archiver",
            ["extract", archive.string, "--to", target.string] + (keys.map { ["--key", $0.key.string] } ?? []))
        defer { try? FileManager.default.removeItem(atPath: target.string) }
        guard end == .exited(0) else { throw Violation("archiver extract \(archive) \(end):\n\(text)") }
        let files = files.filter { $0.session == session }
        let paths = files.map { target.appending(FilePath($0.path).lastComponent?.string ?? "") }
        let hashes = try await Self.output(of: Tool.require("sha256sum"), paths.map(\.string))
            .split(separator: "\n").map { String($0.prefix(64)) }
        guard hashes == files.map(\.sha256) else { throw Violation("\(archive) has other files than were recorded") }
    }

    private func receipt(of session: String) throws -> StrictJSON? {
        let path = data.appending("archives").appending("\(session).receipt.json")
        guard FileManager.default.fileExists(atPath: path.string) else { return nil }
        do {
            return try StrictJSON(Data(contentsOf: URL(filePath: path.string)))
        } catch {
            throw Violation("\(path) can't be read: \(error)")
        }
    }

    private func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: data.pushing(FilePath(path)).string)
    }

    private func names(in directory: FilePath) throws -> [String] {
        guard FileManager.default.fileExists(atPath: directory.string) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: directory.string)
    }

    private static func sha256(_ path: FilePath) async throws -> String {
        String(try await output(of: Tool.require("sha256sum"), [path.string]).prefix(64))
    }

    /// The output of another program, which must succeed.
    static func output(of program: FilePath, _ arguments: [String]) async throws -> String {
        try await ProgramUnderTest.run(executable: program, arguments: arguments) { program in
            let end = try await program.end(within: .seconds(60))
            guard end == .exited(0) else { throw Violation("\(arguments) \(end):\n\(program.standardError)") }
            return program.standardOutput
        }
    }
}
