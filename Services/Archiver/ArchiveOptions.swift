import ArgumentParser
import ServiceKit
import SystemPackage

/// What an archive is to be like, as people type it.
struct ArchiveOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Encrypt to the certificates in this file; may be repeated.", valueName: "file"))
    var certificate: [String] = []

    @Option(help: "Leave out answers, taskResult or metadata; may be repeated.")
    var leaveOut: [GeneratedFile] = []

    @Option(help: ArgumentHelp("Give this section of a task an archive of its own, or 'all'; may be repeated."))
    var separateSection: [String] = []

    @Flag(help: "Leave out files that can't be read or are not what was recorded, and say which.")
    var continueOnFailure = false

    @Flag(help: "Add info.json and answers_schema.json, as Bridge takes them.")
    var bridgeInfo = false

    var choices: ArchiveChoices {
        ArchiveChoices(
            leavingOut: leaveOut, separateSections: separateSection, continuesOnFailure: continueOnFailure,
            hasBridgeInfo: bridgeInfo)
    }

    func recipients() throws(ArchiveError) -> [Certificate] { try Certificate.read(certificate.map { FilePath($0) }) }

    /// Puts what was given beside the other flags.
    func addFlags(to flags: inout FlagValues) {
        flags.set("certificate", all: certificate)
        flags.set("leave-out", all: leaveOut)
        flags.set("separate-section", all: separateSection)
        flags.set("continue-on-failure", if: continueOnFailure)
        flags.set("bridge-info", if: bridgeInfo)
    }
}

extension Certificate {
    /// Reads the certificates in several files.
    static func read(_ paths: [FilePath]) throws(ArchiveError) -> [Certificate] {
        var recipients: [Certificate] = []
        for path in paths { recipients += try read(path) }
        return recipients
    }
}

extension GeneratedFile: ConfigurationValue, ExpressibleByArgument {}
