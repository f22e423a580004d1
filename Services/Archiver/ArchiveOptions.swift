import ArgumentParser
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
        var choices = ArchiveChoices()
        choices.inserts.subtract(leaveOut)
        choices.continuesOnFailure = continueOnFailure
        choices.hasBridgeInfo = bridgeInfo
        if separateSection.contains("all") {
            choices.separateSections = .all
        } else if !separateSection.isEmpty {
            choices.separateSections = .some(Set(separateSection))
        }
        return choices
    }

    func recipients() throws(ArchiveError) -> [Certificate] {
        var recipients: [Certificate] = []
        for path in certificate { recipients += try Certificate.read(FilePath(path)) }
        return recipients
    }
}

extension GeneratedFile: ExpressibleByArgument {}
