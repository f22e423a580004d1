import Export
import Files
import Foundation
import Recording
import SystemPackage

/// The result of an export.
struct Exported {
    let path: FilePath
    let outcome: SessionExport.Outcome

    init(
        _ session: SessionDirectory, to path: FilePath, _ format: SessionExport.Format,
        _ change: (inout SessionExport.Options) -> Void = { _ in }
    ) throws {
        var options = SessionExport.Options(format: format)
        change(&options)
        self.path = path
        outcome = try SessionExport(session, options, version: "0.0.0").run(to: path) { _, _, _ in }
    }

    /// A file as text.
    func text(_ name: String) throws -> String {
        try String(contentsOf: URL(filePath: path.appending(name).string), encoding: .utf8)
    }

    /// The bytes of every file, including hidden ones, by path.
    var files: [String: Data] {
        get throws {
            var files: [String: Data] = [:]
            let root = URL(filePath: path.string).path
            for case let url as URL in FileManager.default.enumerator(
                at: URL(filePath: root), includingPropertiesForKeys: [.isRegularFileKey])
                ?? FileManager.DirectoryEnumerator()
            where try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true {
                files[String(url.path.dropFirst(root.count + 1))] = try Data(contentsOf: url)
            }
            return files
        }
    }
}
