import FoundationEssentials
import SystemPackage

/// A self-test of the catalog oracle: it must accept what a log-manager keeps, and reject each spoiled version.
struct CatalogSelfTest: Experiment {
    let name = "custody-self-test"
    let fault = "catalogs and files spoiled on purpose, found by the oracle"

    /// A way to spoil a data directory whose first file is marked, whose second is removed and whose third is neither.
    private static let spoilings: [(name: String, spoil: @Sendable (FilePath, [String]) throws -> Void)] = [
        ("nothing", { _, _ in }),
        ("a file is gone", { data, paths in try remove(data, paths[2]) }),
        ("a marked file is gone", { data, paths in try remove(data, paths[0]) }),
        ("the marks are forgotten", { data, _ in try remove(data, "catalog") }),
        (
            "nothing says that a file was removed",
            { data, paths in
                let session = FilePath(paths[1]).removingLastComponent()
                try remove(data, session.appending("removed.ndjson").string)
            }
        ),
        (
            "a removed file is back",
            { data, paths in
                try Data("[]\n".utf8).write(to: URL(filePath: data.pushing(FilePath(paths[1])).string))
            }
        ),
    ]

    private static func remove(_ data: FilePath, _ path: String) throws {
        try FileManager.default.removeItem(atPath: data.pushing(FilePath(path)).string)
    }

    func run(in lab: Laboratory, row: inout Row) async throws {
        try await Rig.run(name, in: lab, row: &row) { rig, row in
            try await CatalogExperiment.record(with: rig)
            for (number, spoiling) in Self.spoilings.enumerated() {
                row.tries += 1
                let data = rig.directory.appending("data-\(number)")
                try await CatalogDriver.run(on: rig.data, at: data, in: lab) { custodian in
                    custodian.inventory.begin(nil)
                    try await custodian.start()
                    try await custodian.ready()
                    let paths = custodian.inventory.paths
                    try await custodian.ask(.mark(Array(paths.prefix(2)), receipt: 1))
                    try await custodian.ask(.removeUploaded([paths[1]]))
                    try await custodian.kill()
                    try spoiling.spoil(custodian.data, paths)
                    try await custodian.start()
                    try await custodian.ready()
                    custodian.inventory.settle(try await custodian.view())
                    try await custodian.kill()
                    try await custodian.verify()
                    let violations = custodian.inventory.findings.violations
                    if violations.isEmpty != (number == 0) {
                        row.violations.append("\(spoiling.name): \(violations.isEmpty ? ["not noticed"] : violations)")
                    }
                }
                try? FileManager.default.removeItem(atPath: data.string)
            }
        }
    }
}
