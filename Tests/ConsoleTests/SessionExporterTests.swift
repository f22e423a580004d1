import Export
import Files
import SystemPackage
import TestSupport
import Testing

@testable import ConsoleEngine

/// Exports for download, and the disk space that they may take.
@Suite struct SessionExporterTests {
    private static func make(in data: FilePath) throws {
        let session = try MadeSession(in: data)
        try session.add("left-wrist/accelerometer")
        try session.samples("left-wrist/accelerometer", from: 0, count: 10) { _ in "0,0,1" }
        try session.finish(at: 1)
    }

    @Test func onlySoManyExportsAreDownloadedAtOnce() throws {
        try withTemporaryDirectory { data in
            try Self.make(in: data)
            let exporter = SessionExporter(in: data)
            var downloads: [SessionExporter.Download] = []
            for _ in 0..<SessionExporter.maximumDownloads {
                downloads.append(try #require(try exporter.export("s1", as: .mcap, stream: nil)))
            }
            #expect(try exporter.export("s1", as: .mcap, stream: nil) == nil)
            downloads.removeLast()
            #expect(try exporter.export("s1", as: .mcap, stream: nil) != nil)
        }
    }

    @Test func anExportThatWouldFillTheDiskIsRefused() throws {
        try withTemporaryDirectory { data in
            try Self.make(in: data)
            let exporter = SessionExporter(in: data, reserve: .max)
            let error = #expect(throws: RecordingError.self) { try exporter.export("s1", as: .mcap, stream: nil) }
            #expect(error?.code == .noSpace)
        }
    }

    @Test func onlyExportsOfKilledConsolesAreRemoved() throws {
        try withTemporaryDirectory { path in
            let temporary = Directory(path)
            for name in ["holdfast-export-killed", "holdfast-export-running", "holdfast-export-foreign"] {
                try Directory(path.appending(name)).create()
            }
            try temporary.replace(DirectoryLock.fileName("holdfast-export-killed"), with: [])
            let claim = try DirectoryLock.take("holdfast-export-running", in: temporary)
            _ = SessionExporter(in: path, temporary: path)
            let names = try temporary.names().sorted()
            #expect(
                names == [
                    DirectoryLock.fileName("holdfast-export-running"), "holdfast-export-foreign",
                    "holdfast-export-running",
                ])
            withExtendedLifetime(claim) {}
        }
    }

    @Test func anExportLeavesNoTemporaryFiles() throws {
        try withTemporaryDirectory { data in
            try Self.make(in: data)
            let temporary = Directory(data.appending("temporary"))
            try temporary.create()
            let exporter = SessionExporter(in: data, temporary: temporary.path)
            let download = try exporter.export("s1", as: .mcap, stream: nil)
            #expect(download != nil)
            let names = try temporary.names()
            #expect(names.isEmpty)
        }
    }
}
