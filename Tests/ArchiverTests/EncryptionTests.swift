import Files
import FoundationEssentials
import Messages
import Recording
import ServiceKit
import SystemPackage
import TestSupport
import Testing

@testable import Archiver
@testable import Archives
@testable import Encryption

/// Only the owners of certificates can open these archives, with the openssl program or with our own code.
@Suite(.timeLimit(.minutes(2)), .enabled(if: Tool.exists("openssl")))
struct EncryptionTests {
    private func withKeys(_ body: (ArchivedSession, TestKeys) async throws -> Void) async throws {
        try await withTemporaryDirectory { data in
            let session = try ArchivedSession(in: data)
            try session.addLog()
            try session.add("large", (0..<300_000).map { UInt8(truncatingIfNeeded: $0 * $0 / 7) })
            try session.finish()
            try await body(session, TestKeys(in: data))
        }
    }

    private static func decrypt(_ archive: FilePath, key: FilePath) async throws -> (Bool, FilePath) {
        let plain = FilePath("\(archive).plain")
        let answer = try await Tool.run(
            "openssl",
            [
                "cms", "-decrypt", "-binary", "-inform", "DER", "-in", archive.string, "-inkey", key.string, "-out",
                plain.string,
            ])
        return (answer.isSuccess, plain)
    }

    @Test(arguments: ["rsa", "ec"])
    func opensslOpensIt(kind: String) async throws {
        try await withKeys { session, keys in
            let (certificate, key) = try await keys.make("study", kind: kind)
            let plain = try session.archive()[0]
            let made = try session.archive(recipients: Certificate.read(certificate, at: .now))[0]
            #expect(made.name == "s1.zip.p7m")
            #expect(made.isEncrypted)
            let path = session.archives.path.appending(made.name)
            #expect(try FinishedFile.measure(path) == (made.bytes, made.sha256))
            let (isOpen, decrypted) = try await Self.decrypt(path, key: key)
            #expect(isOpen)
            #expect(try FinishedFile.measure(decrypted).sha256 == plain.sha256)
            // Our own code opens it too, in pieces.
            let archive = try ExtractedArchive(made.name, of: session, key: PrivateKey(key))
            #expect(try archive.bytes("large") == Data(contentsOf: URL(filePath: session.path("large").string)))
        }
    }

    @Test func eachRecipientOpensItAndNobodyElse() async throws {
        try await withKeys { session, keys in
            let (one, oneKey) = try await keys.make("one", kind: "ec")
            let (two, twoKey) = try await keys.make("two", kind: "rsa")
            let (_, otherKey) = try await keys.make("other", kind: "rsa")
            // Both certificates are in one file, as people collect them.
            let both = session.data.appending("both.pem")
            try (Data(contentsOf: URL(filePath: one.string)) + Data(contentsOf: URL(filePath: two.string)))
                .write(to: URL(filePath: both.string))
            let recipients = try Certificate.read(both, at: .now)
            #expect(recipients.count == 2)
            let path = session.archives.path.appending(try session.archive(recipients: recipients)[0].name)
            for key in [oneKey, twoKey] {
                #expect(try OpenedArchive.verify(path, key: PrivateKey(key)).findings == [])
                let isOpen = try await Self.decrypt(path, key: key).0
                #expect(isOpen)
            }
            let error = try #require(throws: ArchiveError.self) {
                try OpenedArchive.verify(path, key: PrivateKey(otherKey))
            }
            #expect(error.code == .wrongKey)
            let noKey = try #require(throws: ArchiveError.self) { try OpenedArchive.verify(path) }
            #expect(noKey.code == .wrongKey)
            #expect(noKey.message.contains("--key"))
        }
    }

    /// Nothing of an archive with a flipped bit is extracted; openssl refuses it too, but may have written some output.
    @Test func aFlippedBitIsNoticed() async throws {
        try await withKeys { session, keys in
            let (certificate, key) = try await keys.make("study", kind: "ec")
            let made = try session.archive(recipients: Certificate.read(certificate, at: .now))[0]
            let path = session.archives.path.appending(made.name)
            let whole = try Data(contentsOf: URL(filePath: path.string))
            let privateKey = try PrivateKey(key)
            for place in [whole.count / 4, whole.count / 2, whole.count - 30, whole.count - 10] {
                var flipped = whole
                flipped[place] ^= 0x10
                try flipped.write(to: URL(filePath: path.string))
                #expect(throws: ArchiveError.self, "byte \(place)") {
                    try ExtractedArchive(made.name, of: session, key: privateKey)
                }
                let isOpen = try await Self.decrypt(path, key: key).0
                #expect(!isOpen, "byte \(place)")
            }
            for length in stride(from: 0, to: whole.count, by: 40_001) {
                try whole.prefix(length).write(to: URL(filePath: path.string))
                #expect(throws: ArchiveError.self, "\(length) bytes") {
                    try OpenedArchive.verify(path, key: privateKey)
                }
            }
            #expect(try Directory(session.data).names().filter { $0.contains("extracted") } == [])
        }
    }

    /// While an archive is made, all its bytes on disk are already encrypted, under any file name.
    @Test func aPlaintextNeverTouchesTheDisk() async throws {
        try await withKeys { session, keys in
            let (certificate, _) = try await keys.make("study", kind: "ec")
            let written = Counter()
            var calls = FileCalls.system
            calls.write = { descriptor, bytes, offset throws(Errno) in
                // A zip contains its file names in plain text.
                if String(decoding: bytes, as: UTF8.self).contains("session.json") { _ = written.next() }
                return try FileCalls.system.write(descriptor, bytes, offset)
            }
            try session.archive(recipients: Certificate.read(certificate, at: .now), calls: calls)
            #expect(written.value == 0)
            try session.archive(calls: calls)
            #expect(written.value > 0)
            #expect(try session.archives.names().sorted() == ["s1.zip", "s1.zip.p7m"])
        }
    }

    /// A key encrypts at most 64 GiB, and the rest continues in the next message; here the limit is a few bytes.
    @Test(arguments: ["rsa", "ec"]) func whatAMessageCannotHoldContinuesInTheNext(kind: String) async throws {
        #expect(EncryptingSink.messageLimit > 60 << 30 && EncryptingSink.messageLimit <= 1 << 36 - 32)
        try await withTemporaryDirectory { data in
            let (certificate, key) = try await TestKeys(in: data).make("study", kind: kind)
            let recipients = try Certificate.read(certificate, at: .now)
            let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 * $0 / 7) }
            for (limit, count) in [(100_000, 2), (70_000, 3), (199_999, 2), (200_000, 1), (66_667, 3)] {
                let sink = MemorySink()
                let encrypting = try EncryptingSink(to: recipients, into: sink, messageLimit: limit)
                // The length of the pieces is arbitrary.
                for start in stride(from: 0, to: bytes.count, by: 33_333) {
                    try bytes[start..<min(start + 33_333, bytes.count)].withUnsafeBytes { piece throws in
                        try encrypting.write(piece)
                    }
                }
                try encrypting.finish()
                let path = data.appending("a.p7m")
                try Data(sink.bytes).write(to: URL(filePath: path.string))
                #expect(try Self.decrypted(path, key) == bytes, "\(limit)")
                let messages = try Self.messages(of: path)
                #expect(messages.count == count)
                // openssl opens each message, and the plain bytes concatenate.
                var opened = Data()
                for (index, range) in messages.enumerated() {
                    let part = data.appending("part\(index)")
                    try Data(sink.bytes[range]).write(to: URL(filePath: part.string))
                    let (isOpen, plain) = try await Self.decrypt(part, key: key)
                    #expect(isOpen)
                    opened += try Data(contentsOf: URL(filePath: plain.string))
                }
                #expect(Array(opened) == bytes)
                // A truncated message is detected, and so are bytes after the last message.
                for spoiled in [Array(sink.bytes.dropLast()), sink.bytes + [0], sink.bytes + Array("PK".utf8)] {
                    try Data(spoiled).write(to: URL(filePath: path.string))
                    #expect(throws: ArchiveError.self) { try Self.decrypted(path, key) }
                }
            }
        }
    }

    private static func decrypted(_ path: FilePath, _ key: FilePath) throws -> [UInt8] {
        let source = try DecryptedArchiveBytes(ArchiveInput(path), key: PrivateKey(key))
        var bytes: [UInt8] = []
        while true {
            let piece = try source.next()
            if piece.isEmpty { return bytes }
            bytes += piece
        }
    }

    /// The byte ranges of a file's messages.
    private static func messages(of path: FilePath) throws -> [Range<Int>] {
        let file = try ArchiveInput(path)
        var messages: [Range<Int>] = []
        while try messages.last?.upperBound ?? 0 < file.length() {
            let start = messages.last?.upperBound ?? 0
            messages.append(start..<(try EncryptedMessage(file, at: start).end))
        }
        return messages
    }

    /// `openssl req -x509 -newkey rsa:2048 -nodes` makes such a certificate: by its basic constraints, an authority's.
    @Test(arguments: ["rsa", "ec"]) func aSelfSignedAuthoritysCertificateEncryptsWithANotice(kind: String) async throws
    {
        try await withKeys { session, keys in
            let (certificate, key) = try await keys.make("plain", kind: kind, extensions: ["basicConstraints=CA:TRUE"])
            let recipients = try Certificate.read(certificate, at: .now)
            let notice = try #require(recipients.first?.notice)
            #expect(notice.contains("CA:TRUE") && notice.contains("/CN=plain"), "\(notice)")
            let made = try session.archive(recipients: recipients)[0]
            let (isOpen, _) = try await Self.decrypt(session.archives.path.appending(made.name), key: key)
            #expect(isOpen)
            // The notice appears where people make an archive.
            let elsewhere = session.data.appending("elsewhere").string
            let answer = try await Tool.run(
                ProductsDirectory.executable("archiver"),
                [
                    "create", session.directory.directory.path.string, "--to", elsewhere, "--certificate",
                    certificate.string,
                ])
            #expect(answer.isSuccess)
            #expect(answer.error.contains("CA:TRUE"), "\(answer.error)")
            let (usual, _) = try await keys.make("usual", kind: kind)
            #expect(try Certificate.read(usual, at: .now).compactMap(\.notice) == [])
        }
    }

    @Test func certificatesAreCheckedBeforeAnythingIsDone() async throws {
        try await withTemporaryDirectory { data in
            let keys = TestKeys(in: data)
            let usage = "keyUsage=critical,keyEncipherment"
            let authority = try await keys.make("root", kind: "rsa", extensions: ["basicConstraints=critical,CA:TRUE"])
            let intermediate = try await keys.make(
                "ca", kind: "rsa", extensions: ["basicConstraints=critical,CA:TRUE", usage], signedBy: authority)
            let refused = try #require(throws: ArchiveError.self) {
                try Certificate.read(intermediate.certificate, at: .now)
            }
            #expect(refused.code == .badCertificate && refused.message.contains("certificate authority"), "\(refused)")
            let cases: [(name: String, kind: String, extensions: [String], fault: String)] = [
                ("signer", "rsa", ["keyUsage=critical,digitalSignature"], "keyEncipherment"),
                ("ec-signer", "ec", ["keyUsage=critical,digitalSignature"], "keyAgreement"),
                ("server", "rsa", [usage, "extendedKeyUsage=serverAuth"], "another purpose"),
                ("small", "rsa1024", [usage], "1024 bits"),
                ("edwards", "ed25519", [], "neither RSA nor EC"),
            ]
            for bad in cases {
                let (certificate, _) = try await keys.make(bad.name, kind: bad.kind, extensions: bad.extensions)
                let error = try #require(throws: ArchiveError.self, "\(bad.name)") {
                    try Certificate.read(certificate, at: .now)
                }
                #expect(error.code == .badCertificate)
                #expect(error.exitStatus == .badConfiguration)
                #expect(error.message.contains(bad.fault), "\(error)")
            }
            let (good, key) = try await keys.make(
                "mail", kind: "rsa", extensions: [usage, "extendedKeyUsage=emailProtection"])
            #expect(try Certificate.read(good, at: .now).map(\.subject) == ["/CN=mail"])
            // A damaged certificate is not taken for the end of the file.
            let whole = try String(decoding: Data(contentsOf: URL(filePath: good.string)), as: UTF8.self)
            for damaged in [0, 2] {
                var lines = whole.split(separator: "\n")
                lines.remove(at: damaged)
                let collected = data.appending("collected.pem")
                try Data((whole + lines.joined(separator: "\n") + "\n" + whole).utf8)
                    .write(to: URL(filePath: collected.string))
                let unreadable = try #require(throws: ArchiveError.self) { try Certificate.read(collected, at: .now) }
                #expect(unreadable.code == .badCertificate)
                #expect(unreadable.message.contains("one of its"), "\(unreadable)")
            }
            let now = WallTime.now.nanosecondsSince1970
            let year: Int64 = 365 * 86_400 * 1_000_000_000
            for (date, fault) in [(now + year, "expired"), (now - year, "not valid before")] {
                let error = try #require(throws: ArchiveError.self) {
                    try Certificate.read(good, at: WallTime(nanosecondsSince1970: date))
                }
                #expect(error.message.contains(fault), "\(error)")
            }
            // A running archiver reads a certificate regardless of its dates; an unsuitable certificate is refused at once.
            let expired = try Certificate.read(try keys.writeExpired(), at: nil)
            #expect(expired.map(\.subject) == ["/CN=study"])
            #expect(throws: ArchiveError.self) { try expired.first?.check(at: .now) }
            #expect(throws: ArchiveError.self) { try Certificate.read(intermediate.certificate, at: nil) }
            for wrong in [key, data.appending("nowhere.pem")] {
                let error = try #require(throws: ArchiveError.self) { try Certificate.read(wrong, at: .now) }
                #expect(error.code == .badCertificate)
            }
            #expect(throws: ArchiveError.self) { try PrivateKey(good) }
        }
    }
}
