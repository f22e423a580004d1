import Files
import Foundation
import Import
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// Wearables' files, compared with other projects' readers, sample by sample.
@Suite(.timeLimit(.minutes(4)))
struct ReaderTests {
    /// Imports a file and also reads it with another project's reader.
    private static func read(
        _ kind: String, _ name: String, _ bytes: [UInt8], in directory: FilePath
    ) async throws -> String {
        let imported = try Imported(name, bytes, in: directory) {
            $0.format = .csv
            $0.zone = 0
            $0.maximumFileSize = 100_000
        }
        return try await Readers.run(
            "devices.py", [kind, directory.appending(name).string, imported.directory.directory.path.string])
    }

    @Test(.enabled(if: Readers.areInstalled, "\(Readers.need)"), arguments: [UInt8(0x30), 0x32, 0x62])
    func actipyReadsTheSameOfAnAxivityFile(layout: UInt8) async throws {
        try await withTemporaryDirectory { directory in
            var random = SplitMix(seed: UInt64(layout))
            let columns = layout == 0x62 ? 6 : 3
            let capacity = layout == 0x30 ? 120 : layout == 0x62 ? 40 : 80
            var blocks = CWAFile.blocks(300, of: capacity, layout: layout, columns: columns) { _, _ in
                layout == 0x30
                    ? Int16.random(in: -512...511, using: &random) : .random(in: .min ... .max, using: &random)
            }
            for index in blocks.indices {
                blocks[index].exponents = (0..<capacity).map { _ in UInt32.random(in: 0...3, using: &random) }
                blocks[index].scales = layout == 0x30 ? 0 : 3 << 13 | (layout == 0x62 ? 2 << 10 : 0)
            }
            blocks.removeSubrange(40..<43)
            var bytes = CWAFile.header(hardware: layout == 0x62 ? 0x64 : 0x17) + blocks.flatMap(\.bytes)
            bytes[1024 + 100 * 512 + 99] ^= 0x10
            let output = try await Self.read("cwa", "a.cwa", bytes, in: directory)
            #expect(output.contains("actipy: \(296 * capacity) samples"), "\(output)")
        }
    }

    @Test(.enabled(if: Readers.areInstalled, "\(Readers.need)"), arguments: [0, 26, 27])
    func pygt3xReadsTheSameOfAnActiGraphFile(type: Int) async throws {
        try await withTemporaryDirectory { directory in
            var random = SplitMix(seed: UInt64(type))
            func second(_ number: UInt32) -> [UInt8] {
                let limit = type == 26 ? 32_000 : 2047
                let samples = (0..<30).map { _ in (0..<3).map { _ in Int.random(in: -limit...limit, using: &random) } }
                return switch type {
                case 0: GT3XFile.packed(GT3XFile.start + number, samples)
                case 26: GT3XFile.words(GT3XFile.start + number, samples)
                default: GT3XFile.packedInOrder(GT3XFile.start + number, samples)
                }
            }
            // Bit 2 of a parameter in address space 2: the device may sleep.
            var log = GT3XFile.record(21, GT3XFile.start, [0, 0, 2, 0, 4, 0, 0, 0])
            for number in UInt32(0)..<60 { log += second(number) }
            log += GT3XFile.asleep(GT3XFile.start + 60) + GT3XFile.awake(GT3XFile.start + 90)
            for number in UInt32(90)..<120 { log += second(number) }
            var damaged = second(120)
            damaged[60] ^= 1
            log += damaged
            for number in UInt32(121)..<130 { log += second(number) }
            let zip = StoredZip([("log.bin", log), ("info.txt", Array(GT3XFile.info().utf8))])
            let output = try await Self.read("gt3x", "a.gt3x", zip.bytes, in: directory)
            #expect(output.contains("pygt3x: \(99 * 30) samples"), "\(output)")
            #expect(!output.contains(" 0 made up"), "\(output)")
        }
    }
}
