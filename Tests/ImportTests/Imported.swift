import Files
import Foundation
import Import
import Messages
import Recording
import SystemPackage

/// A session imported from a file.
struct Imported {
    let outcome: SessionImport.Outcome
    let directory: SessionDirectory
    let record: SessionRecord

    /// Imports a file into `data` in a directory.
    @discardableResult
    init(
        _ name: String, _ bytes: [UInt8], in directory: FilePath,
        _ change: (inout SessionImport.Options) -> Void = { _ in }
    ) throws {
        try Directory(directory).create()
        let path = directory.appending(name)
        try Data(bytes).write(to: URL(filePath: path.string))
        var options = SessionImport.Options(data: directory.appending("data"))
        change(&options)
        outcome = try SessionImport(path, options, version: "0").run()
        self.directory = try SessionDirectory(at: outcome.path)
        record = try self.directory.record()
    }

    var verdict: SessionVerification.Verdict { directory.verify().verdict }

    /// The samples of a stream: the digits of the uptime and of each field.
    func rows(of stream: Int = 0) throws -> [[String]] {
        var reader = try StreamReader(record.logs[stream], of: record, in: directory)
        var rows: [[String]] = []
        while let item = try reader.next() {
            guard case .sample = item else { continue }
            reader.withSample { bytes, timestamp, values in
                rows.append(
                    ([timestamp] + values).map { range in
                        String(decoding: UnsafeRawBufferPointer(rebasing: bytes[range]), as: UTF8.self)
                    })
            }
        }
        return rows
    }

    /// The bytes of every file, by name.
    var files: [String: [UInt8]] {
        get throws {
            var files: [String: [UInt8]] = [:]
            for name in try directory.directory.names() { files[name] = try directory.directory.read(name) }
            return files
        }
    }
}
