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
}
