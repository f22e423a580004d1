import FoundationEssentials
import SystemPackage

extension DiskModel.DiskAfterCrash {
    /// Writes the files into a new directory.
    func write(to directory: FilePath) throws {
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        for path in directories.sorted() {
            try FileManager.default.createDirectory(
                atPath: "\(directory.string)/\(path)", withIntermediateDirectories: true)
        }
        for (path, bytes) in files { try Data(bytes).write(to: URL(filePath: "\(directory.string)/\(path)")) }
    }
}
