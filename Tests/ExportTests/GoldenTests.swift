import Export
import Foundation
import Recording
import SystemPackage
import TestSupport
import Testing

/// The bytes of exports are promises: analyses are repeated, and files compared. Golden/ has the export of a small session, as
/// accepted by the readers of Readers/read.py.
@Suite(.timeLimit(.minutes(1)))
struct GoldenTests {
    private static let golden = FilePath(#filePath).removingLastComponent().appending("Golden")

    private static func made(in data: FilePath) throws -> MadeSession {
        let session = try MadeSession(in: data, "s1")
        try session.add("left-wrist/accelerometer")
        try session.add("left-wrist/gyro", unit: "deg/s", rate: nil, format: .csv)
        try session.add("room/air", fields: ["co2", "temperature [°C]"], unit: nil, rate: 1)
        session.compareClocks(at: 0.5, ahead: 0.25)
        try session.samples("left-wrist/accelerometer", from: 0.51, count: 3) { "0.\($0),-1e-05,\($0)" }
        try session.samples("left-wrist/gyro", from: 0.512, count: 2) { "\($0),90,-180" }
        try session.sample("room/air", 0.7, "412,21.5")
        try session.gap("left-wrist/accelerometer", count: 7, at: 0.6)
        try session.rotate("left-wrist/accelerometer", at: 0.6)
        try session.move(to: "back", at: 0.65)
        try session.sample("left-wrist/accelerometer", 0.61, #"null,"NaN",1"#)
        try session.finish(at: 2)
        return session
    }

    @Test(arguments: SessionExport.Format.allCases)
    func anExportHasItsBytes(_ format: SessionExport.Format) throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            let exported = try Exported(session.directory, to: directory.appending("out"), format) {
                if format == .xdf { $0.clock = .recorder }
            }
            let place = Self.golden.appending(format.rawValue)
            let names = try FileManager.default.subpathsOfDirectory(atPath: place.string).filter {
                (try? place.appending($0).stat().type) == .regular
            }
            // The provenance has the hashes of the session's own files, which an export does not promise.
            let files = try exported.files.filter { !$0.key.hasSuffix("provenance.json") }
            #expect(files.keys.sorted() == names.sorted())
            for (name, bytes) in files {
                let expected = try? Data(contentsOf: URL(filePath: place.appending(name).string))
                #expect(
                    bytes == expected, "\(name): \(bytes.count < 2000 ? String(decoding: bytes, as: UTF8.self) : "")")
            }
        }
    }
}
