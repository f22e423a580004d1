import Archives
import ArgumentParser
import Encryption
import ServiceKit
import SystemPackage

/// The `extract` subcommand: puts an archive's files into a new directory. Needs no running archiver.
struct ExtractCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "extract", abstract: "Check an archive and extract its files.",
        discussion: """
            Nothing is extracted unless every file matches the manifest. The exit codes are those of verify.
            """)

    @Argument(help: ArgumentHelp("The archive.", valueName: "file"), completion: .file())
    var file: String

    @Option(help: ArgumentHelp("The private key of one of the archive's recipients, in PEM.", valueName: "file"))
    var key: String?

    @Option(help: ArgumentHelp("The new directory (default: the archive's name without .zip).", valueName: "dir"))
    var to: String?

    func run() throws {
        FileMode.applyStandard()
        try ArchiveError.showing { () throws(ArchiveError) in
            let key = try key.map { path throws(ArchiveError) in try PrivateKey(FilePath(path)) }
            let target = to ?? defaultTarget
            let opened = try ArchiveExtraction.extract(FilePath(file), to: FilePath(target), key: key)
            let status = opened.show(file)
            StandardStream.output.print(
                opened.findings.isEmpty ? "extracted to \(target)\n" : "nothing was extracted\n")
            return status
        }
    }

    /// The archive's name without its extensions, in the working directory.
    private var defaultTarget: String {
        var name = FilePath(file).lastComponent?.string ?? file
        for ending in [".p7m", ".zip"] where name.hasSuffix(ending) { name.removeLast(ending.count) }
        return name == FilePath(file).lastComponent?.string ? "\(name)-extracted" : name
    }
}
