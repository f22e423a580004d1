import FoundationEssentials
import SystemPackage

/// A self-test of the archive oracle: it must accept what an archiver leaves, and reject each spoiled version.
struct ArchivingSelfTest: Experiment {
    let name = "archive-self-test"
    let fault = "archives, receipts and log files spoiled on purpose, found by the oracle"

    /// A way to spoil a data directory of session `a`: a file's new bytes; nil to remove it.
    private static let spoilings: [(name: String, path: String, bytes: String?)] = [
        ("an object is another", "receiver/a.zip", "PK"),
        ("an object is gone", "receiver/a.zip", nil),
        ("an object too many", "receiver/d.zip", "PK"),
        ("a receipt is gone", "archives/a.receipt.json", nil),
        ("a receipt can't be read", "archives/a.receipt.json", "{"),
        ("a half-written archive is left", "archives/.a.zip.new", "PK"),
        ("an archive is gone that is kept", "archives/a.zip", nil),
    ]

    func run(in lab: Laboratory, row: inout Row) async throws {
        try await Rig.run(name, in: lab, row: &row) { rig, row in
            try await CatalogExperiment.record(with: rig)
            try await CatalogDriver.run(on: rig.data, at: rig.directory.appending("data"), in: lab) { custodian in
                try await custodian.start()
                try await custodian.ready()
                try await ArchiveDriver.run(
                    beside: custodian, in: lab, keys: nil, keepsArchives: true, keepsRecordings: false
                ) { archivist in
                    try await archivist.start()
                    try await archivist.settled()
                    // A kill could leave a lock, which the next start removes.
                    try await archivist.terminate()
                    _ = try await archivist.verify()
                    for spoiling in Self.spoilings {
                        row.tries += 1
                        if try await !Self.isNoticed(spoiling.path, spoiling.bytes, archivist) {
                            row.violations.append("\(spoiling.name): not noticed")
                        }
                    }
                }
                try await custodian.kill()
            }
        }
    }

    /// Spoils a file, checks whether the oracle notices, and restores the file.
    private static func isNoticed(_ path: String, _ bytes: String?, _ archivist: ArchiveDriver) async throws -> Bool {
        let file = URL(filePath: archivist.data.pushing(FilePath(path)).string)
        let original = try? Data(contentsOf: file)
        if let bytes { try Data(bytes.utf8).write(to: file) } else { try FileManager.default.removeItem(at: file) }
        defer {
            if let original { try? original.write(to: file) } else { try? FileManager.default.removeItem(at: file) }
        }
        do {
            _ = try await archivist.verify()
            return false
        } catch is Violation {
            return true
        }
    }
}
