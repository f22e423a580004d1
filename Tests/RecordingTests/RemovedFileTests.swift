import Files
import FoundationEssentials
import Glibc
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RemovedFileTests {
    private func file(_ number: Int, uploaded: Bool = false) throws -> RemovedFile {
        let date = try WallTime(iso8601: "2026-11-21T02:55:01Z")
        return RemovedFile(
            name: "phone_gyro-20261121025501-\(number).json", bytes: number, sha256: "\(number)", reason: "whenFull",
            date: date, uploaded: uploaded ? date : nil, receipt: uploaded ? .object(["etag": .string("x")]) : nil)
    }

    @Test func whatIsAppendedIsReadInOrder() throws {
        try withTemporaryDirectory { directory in
            #expect(try RemovedFile.read(in: directory) == [])
            try RemovedFile.append([], in: directory)
            #expect(try directory.names() == [])
            try RemovedFile.append([file(1), file(2, uploaded: true)], in: directory)
            try RemovedFile.append([file(3)], in: directory)
            #expect(try RemovedFile.read(in: directory) == [file(1), file(2, uploaded: true), file(3)])
            let lines = try text(of: directory.path.appending(RemovedFile.fileName)).split(separator: "\n")
            #expect(
                lines.first
                    == #"{"bytes":1,"date":"2026-11-21T02:55:01.000000Z","name":"phone_gyro-20261121025501-1.json","reason":"whenFull","sha256":"1"}"#
            )
        }
    }

    /// A power cut may leave any beginning of the last append; the next line is still separate.
    @Test func aTornLineSaysNothingAndIsCutOff() throws {
        try withTemporaryDirectory { directory in
            let path = directory.path.appending(RemovedFile.fileName)
            try RemovedFile.append([file(1)], in: directory)
            let first = try bytes(of: path)
            try RemovedFile.append([file(2, uploaded: true)], in: directory)
            let both = try bytes(of: path)
            for length in first.count..<both.count {
                try write(both[..<length], to: path)
                #expect(try RemovedFile.read(in: directory) == [file(1)])
                try RemovedFile.append([file(3)], in: directory)
                #expect(try RemovedFile.read(in: directory) == [file(1), file(3)])
            }
            for length in 0..<first.count {
                try write(first[..<length], to: path)
                #expect(try RemovedFile.read(in: directory) == [])
            }
            // Longer than one of the pieces in which the file is read.
            try write(first + [UInt8](repeating: 0, count: 20_000), to: path)
            try RemovedFile.append([file(3)], in: directory)
            #expect(try RemovedFile.read(in: directory) == [file(1), file(3)])
        }
    }

    @Test func aLineThatCannotBeReadHidesNoOther() throws {
        try withTemporaryDirectory { directory in
            let path = directory.path.appending(RemovedFile.fileName)
            try RemovedFile.append([file(1)], in: directory)
            try write(bytes(of: path) + Array("{\"name\":5}\n".utf8), to: path)
            try RemovedFile.append([file(2)], in: directory)
            #expect(try RemovedFile.read(in: directory) == [file(1), file(2)])
        }
    }

    /// As when several programs append the first lines of a file at the same time.
    @Test func severalMayCreateTheFileAtOnce() async throws {
        try await TestSupport.withTemporaryDirectory { path in
            for number in 0..<200 {
                let file = LineFile("lines-\(number)", in: Directory(path))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for line in UInt8(ascii: "a")..<UInt8(ascii: "i") {
                        group.addTask { try file.append([[line]], calls: .unsynced) }
                    }
                    try await group.waitForAll()
                }
                #expect(try file.lines().count == 8)
            }
        }
    }

    @Test func manyLinesAreAppendedAtOnce() throws {
        try withTemporaryDirectory { directory in
            let files = try (0..<20_000).map { try file($0) }
            try RemovedFile.append(files, in: directory)
            #expect(try RemovedFile.read(in: directory) == files)
        }
    }

    @Test func aLinkIsNotFollowed() throws {
        try withTemporaryDirectory { directory in
            let path = directory.path.appending(RemovedFile.fileName)
            let other = directory.path.appending("other")
            try write([], to: other)
            #expect(symlink(other.string, path.string) == 0)
            #expect(throws: RecordingError.self) { try RemovedFile.append([file(1)], in: directory) }
            #expect(try bytes(of: other) == [])
        }
    }

    @Test func aDescriptorsDirectoryWillDo() throws {
        try withTemporaryDirectory { directory in
            let descriptor = try FileDescriptor.open(directory.path, .readOnly, options: .directory)
            try descriptor.closeAfter {
                try RemovedFile.append([file(1)], in: Directory(FilePath("/proc/self/fd/\(descriptor.rawValue)")))
            }
            #expect(try RemovedFile.read(in: directory) == [file(1)])
        }
    }
}
