import Archives
import ArgumentParser
import Encryption
import Messages
import ServiceKit
import SystemPackage

/// The `verify` subcommand: compares every byte of an archive with its manifest. Needs no running archiver.
struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Check an archive: every file against the manifest.",
        discussion: """
            Exits 0 if the archive is as it was made, 3 if it lists files of the session that had to be left out, 1 if it is \
            damaged or the key does not open it, 74 if it can't be read.
            """)

    @Argument(help: ArgumentHelp("The archive.", valueName: "file"), completion: .file())
    var file: String

    @Option(help: ArgumentHelp("The private key of one of the archive's recipients, in PEM.", valueName: "file"))
    var key: String?

    func run() throws {
        try ArchiveError.showing { () throws(ArchiveError) in
            let key = try key.map { path throws(ArchiveError) in try PrivateKey(FilePath(path)) }
            return try OpenedArchive.verify(FilePath(file), key: key).show(file)
        }
    }
}

extension OpenedArchive {
    /// Prints the findings.
    func show(_ file: String) -> ExitStatus {
        var lines = findings.map(\.description)
        lines += (metadata?.leftOut ?? []).map { "\($0.filename): not in the archive: \($0.reason)" }
        let hasLoss = metadata?.hasLoss ?? false
        let verdict = findings.isEmpty ? hasLoss ? "whole, with loss, see above" : "whole" : "damaged, see above"
        let session = metadata.map { "session \($0.session), " } ?? ""
        lines.append(
            "\(file): \(session)\(files.counted("file")) of \(ByteCount(bytes: bytes).rounded): \(verdict)"
        )
        // The names come from the archive.
        StandardStream.output.print(lines.map { LogText.escaped($0[...]) + "\n" }.joined())
        if !findings.isEmpty { return .failed }
        return hasLoss ? .doneWithLoss : .done
    }
}
