package import Archives
package import Encryption
package import Messages
import ServiceKit
import SystemPackage

/// The options of an archive, as a user enters them.
package struct ArchiveSettings: SettingGroup {
    package static let title = "Archives"

    /// Without certificates, archives are not encrypted.
    @Setting("Encrypt to the certificates in this file; may be repeated.", valueName: "file")
    private var certificate: [FilePath] = []

    @Setting("Leave out answers, taskResult or metadata; may be repeated.")
    private var leaveOut: [GeneratedFile] = []

    @Setting("Put this section of a task, or 'all', into a separate archive; may be repeated.")
    private var separateSection: [String] = []

    @Setting("Leave out files that cannot be read or differ from what was recorded, and list them.")
    private var continueOnFailure = false

    @Setting("Add info.json and answers_schema.json, as Bridge expects them.")
    private var bridgeInfo = false

    @Setting("Add report.html, the page about the session that recorder report makes.")
    private var reportPage = false

    @Setting(
        "Count steps in streams of this name, for taskResult.json; may be repeated: accelerometer.", valueName: "name")
    private var countSteps: [String] = []

    package init() {}

    package var choices: ArchiveChoices {
        ArchiveChoices(
            leavingOut: leaveOut, separateSections: separateSection, continuesOnFailure: continueOnFailure,
            hasBridgeInfo: bridgeInfo, hasReportPage: reportPage, countingStepsIn: countSteps)
    }

    /// Reads the certificates.
    /// - Parameter date: when they must be valid; nil if validity is checked later.
    package func recipients(at date: WallTime?) throws(ArchiveError) -> [Certificate] {
        var recipients: [Certificate] = []
        for path in certificate { recipients += try Certificate.read(path, at: date) }
        return recipients
    }
}

extension GeneratedFile: ConfigurationValue {}
