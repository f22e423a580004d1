import FoundationEssentials
import Glibc
import Messages
import ServiceKit
import SystemPackage
import TestSupport
import Synchronization
import Testing
import ZeroMQ

/// Directories of keys: their creation, refused keys, and the list of clients.
@Suite struct KeyDirectoryTests {
    @Test func keysAreMadeForTheirOwnerAlone() throws {
        try Self.withKeys { keys in
            #expect(try keys.make("alice", role: .listen) == .made)
            #expect(try Self.permissions(keys.path) == 0o700)
            #expect(try Self.permissions(keys.secretFile(of: "alice")) == 0o600)
            #expect(try Self.permissions(keys.publicFile(of: "alice")) == 0o644)
            let pair = try keys.pair(of: "alice")
            #expect(try keys.publicKey(of: "alice") == pair.publicKey)
            #expect(try keys.allowList()[pair.publicKey]?.role == .listen)
            #expect(try FileManager.default.contentsOfDirectory(atPath: keys.path.string).count == 2)
        }
    }

    @Test func nothingIsOverwritten() throws {
        try Self.withKeys { keys in
            _ = try keys.make("alice", role: .listen)
            let before = try keys.pair(of: "alice")
            #expect(try keys.make("alice", role: .delete) == .kept)
            let error = #expect(throws: ServiceError.self) {
                try keys.add(KeyCertificate(publicKey: before.publicKey, role: .delete), as: "alice")
            }
            #expect(error?.status == .inputOutput)
            #expect(try keys.pair(of: "alice") == before)
            #expect(try keys.allowList()[before.publicKey]?.role == .listen)
        }
    }

    /// As after a power cut between the two files.
    @Test func aSecretHalfAloneIsCompleted() throws {
        try Self.withKeys { keys in
            _ = try keys.make("alice", role: .listen)
            let pair = try keys.pair(of: "alice")
            unlink(keys.publicFile(of: "alice").string)
            #expect(try keys.make("alice", role: .listen) == .completed)
            #expect(try keys.publicKey(of: "alice") == pair.publicKey)
            unlink(keys.secretFile(of: "alice").string)
            let error = #expect(throws: ServiceError.self) { try keys.make("alice", role: .listen) }
            #expect(error?.status == .badConfiguration)
        }
    }

    @Test(arguments: [0o640, 0o604, 0o660, 0o644, 0o601, 0o620] as [mode_t])
    func aSecretThatOthersCanReadIsRefused(mode: mode_t) throws {
        try Self.withKeys { keys in
            _ = try keys.make("alice", role: .listen)
            chmod(keys.secretFile(of: "alice").string, mode)
            let error = #expect(throws: ServiceError.self) { try keys.pair(of: "alice") }
            #expect(error?.status == .badConfiguration)
            #expect(error?.message.contains("chmod 600") == true)
        }
    }

    @Test func aPairThatDoesNotFitIsRefused() throws {
        try Self.withKeys { keys in
            _ = try keys.make("alice", role: .listen)
            _ = try keys.make("bob", role: .listen)
            rename(keys.publicFile(of: "bob").string, keys.publicFile(of: "alice").string)
            let error = #expect(throws: ServiceError.self) { try keys.pair(of: "alice") }
            #expect(error?.message.contains("does not match") == true)
        }
    }

    @Test(arguments: [0o770, 0o707, 0o1777] as [mode_t])
    func aDirectoryThatOthersCanPutKeysIntoIsRefused(mode: mode_t) throws {
        try Self.withKeys { keys in
            _ = try keys.make("alice", role: .listen)
            chmod(keys.path.string, mode)
            let error = #expect(throws: ServiceError.self) { try keys.allowList() }
            #expect(error?.message.contains("chmod 700") == true)
        }
    }

    @Test func whatCantBeOnTheListIsSaid() throws {
        try Self.withKeys { keys in
            _ = try keys.make("alice", role: .listen)
            _ = try keys.make("twin", role: .delete)
            _ = try keys.make("triplet", role: .delete)
            let twin = try Data(contentsOf: URL(filePath: keys.publicFile(of: "twin").string))
            try twin.write(to: URL(filePath: keys.publicFile(of: "twin2").string))
            try twin.write(to: URL(filePath: keys.publicFile(of: "twin3").string))
            try keys.add(KeyCertificate(publicKey: CurveKeyPair.generate().publicKey, role: nil), as: "noRole")
            try Self.write("metadata\n    role = root\n", to: keys.publicFile(of: "noKey"))
            try Self.write("\u{0}", to: keys.publicFile(of: "noText"))
            _ = try keys.make("open", role: .listen)
            chmod(keys.publicFile(of: "open").string, 0o666)
            mkdir(keys.publicFile(of: "folder").string, 0o700)
            mkfifo(keys.publicFile(of: "pipe").string, 0o600)
            try Self.write("# not a key", to: keys.path.appending("README"))
            try Self.write("# not a key", to: keys.path.appending(".hidden.key"))

            let list = try keys.allowList()
            #expect(list.count == 2)
            #expect(try list[keys.publicKey(of: "alice")]?.name == "alice")
            #expect(try list[keys.publicKey(of: "twin")] == nil)
            #expect(list.problems.count == 8)
            for (name, reason) in [
                ("noRole", "has no role"), ("noKey", "no public-key"), ("noText", "no public-key"),
                ("open", "chmod 644"), ("folder", ""), ("pipe", ""), ("twin2", "have the same key"),
                ("twin3", "have the same key"),
            ] {
                #expect(
                    list.problems.contains { $0.contains("\(name).key") && $0.contains(reason) },
                    "\(name): \(list.problems)")
            }
        }
    }

    @Test func aMissingDirectoryOrKeySaysWhatToDo() throws {
        try withTemporaryDirectory { directory in
            let keys = KeyDirectory(directory.appending("none"))
            for error in [
                #expect(throws: ServiceError.self) { try keys.allowList() },
                #expect(throws: ServiceError.self) { try keys.pair(of: "recorder") },
                #expect(throws: ServiceError.self) { try keys.publicKey(of: "recorder") },
            ] {
                #expect(error?.status == .badConfiguration)
                #expect(error?.message.contains("holdfast-keys") == true)
            }
        }
    }

    // MARK: The list as it changes

    @Test func aListThatChangedCountsWithoutARestart() async throws {
        try await Self.withAlice { keys, clients, alice, problems in
            #expect(clients.client(with: alice)?.role == .listen)

            _ = try keys.make("bob", role: .command)
            let bob = try keys.publicKey(of: "bob")
            try await eventually("bob is on the list") { clients.client(with: bob)?.role == .command }

            // Rewritten in place, with the same length.
            let file = keys.publicFile(of: "alice")
            let text = try String(contentsOfFile: file.string, encoding: .utf8)
            try Self.write(text.replacing("listen", with: "delete"), to: file)
            try await eventually("alice may delete") { clients.client(with: alice)?.role == .delete }

            unlink(keys.publicFile(of: "bob").string)
            try await eventually("bob is off the list") { clients.client(with: bob) == nil }

            try Self.write("nonsense", to: keys.publicFile(of: "carol"))
            try await eventually("the nonsense is reported") {
                _ = clients.client(with: alice)
                return problems.now.count == 1
            }
            #expect(clients.client(with: alice)?.role == .delete)
            unlink(keys.publicFile(of: "carol").string)
            try await eventually("the report is taken back") {
                _ = clients.client(with: alice)
                return problems.now.isEmpty
            }
        }
    }

    @Test func aListThatCantBeReadAnyMoreStaysAsItWas() async throws {
        try await Self.withAlice { keys, clients, alice, problems in
            chmod(keys.path.string, 0o777)
            try await eventually("it is reported") {
                _ = clients.client(with: alice)
                return problems.now.count == 1
            }
            #expect(clients.client(with: alice)?.role == .listen)
            // Two checks later, the problem is no longer new.
            try await Task.sleep(for: .milliseconds(250))
            #expect(clients.client(with: alice)?.role == .listen)
            #expect(problems.reports == 1)
        }
    }

    @Test func aDirectoryThatIsGoneLeavesNobodyOnTheList() async throws {
        try await Self.withAlice { keys, clients, alice, problems in
            let away = keys.path.removingLastComponent().appending("away")
            rename(keys.path.string, away.string)
            try await eventually("alice is off the list") { clients.client(with: alice) == nil }
            try await eventually("it is reported") {
                _ = clients.client(with: alice)
                return problems.now.first?.contains("is gone") == true
            }
            rename(away.string, keys.path.string)
            try await eventually("alice is on the list again") { clients.client(with: alice)?.role == .listen }
            try await eventually("the report is taken back") {
                _ = clients.client(with: alice)
                return problems.now.isEmpty
            }
        }
    }

    @Test func aProgramDoesNotStartWithAListThatHasMistakes() throws {
        try Self.withKeys { keys in
            try Self.write("nonsense", to: keys.publicFile(of: "carol"))
            let error = #expect(throws: ServiceError.self) { _ = try AllowedClients(in: keys) { _ in } }
            #expect(error?.status == .badConfiguration)
            #expect(error?.message.contains("carol.key") == true)
        }
    }

    private static func withKeys(_ body: (KeyDirectory) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            let keys = KeyDirectory(directory.appending("keys"))
            try keys.create()
            try body(keys)
        }
    }

    /// Makes a list on which alice has permission to listen, and passes it with her key and the reported problems.
    private static func withAlice(
        _ body: (KeyDirectory, AllowedClients, CurveKey, Problems) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let keys = KeyDirectory(directory.appending("keys"))
            try keys.create()
            _ = try keys.make("alice", role: .listen)
            let problems = Problems()
            let clients = try AllowedClients(in: keys) { problems.set($0) }
            try await body(keys, clients, try keys.publicKey(of: "alice"), problems)
        }
    }

    private static func permissions(_ path: FilePath) throws -> mode_t { try path.stat().permissions.rawValue }

    private static func write(_ text: String, to path: FilePath) throws {
        try text.write(toFile: path.string, atomically: false, encoding: .utf8)
        chmod(path.string, 0o644)
    }
}

/// The problem reported last.
private final class Problems: Sendable {
    private let state = Mutex<(problems: [String], reports: Int)>(([], 0))

    var now: [String] { state.withLock { $0.problems } }
    /// The number of reports.
    var reports: Int { state.withLock { $0.reports } }

    func set(_ new: [String]) { state.withLock { $0 = (new, $0.reports + 1) } }
}
