import Messages
import Recording
package import ServiceKit
import SystemPackage

/// What the archiver reads besides `ServiceConfiguration`; `UploadSettings` has what concerns uploads.
///
/// | key | what it is | unit | default |
/// | --- | --- | --- | --- |
/// | `subscribe` | the recorders to listen to | endpoints | `tcp://127.0.0.1:5560` |
/// | `log-manager` | who marks and removes log files | endpoint | `tcp://127.0.0.1:5581` |
/// | `certificate` | files with the certificates that archives are encrypted to | paths | none: archives are plain |
/// | `leave-out` | what is not made for archives | `answers`, `taskResult`, `metadata` | nothing |
/// | `separate-section` | sections of tasks that get archives of their own | names, or `all` | none |
/// | `continue-on-failure` | whether files are left out that can't be archived | true or false | false |
/// | `bridge-info` | whether there is `info.json`, as Bridge takes it | true or false | false |
/// | `keep-archives` | how long archives stay here once the receiver has them | `always` or a duration | `always` |
/// | `keep-recordings` | how long log files stay here once the receiver has them | `always` or a duration | `always` |
/// | `rescan-interval` | how often all sessions are looked at | duration | 5 min |
package struct ArchiverSettings: Sendable {
    /// The recorders to listen to.
    let subscribe: [Endpoint]
    /// Who marks and removes log files.
    let logManager: Endpoint
    /// What archives are to be like.
    let choices: ArchiveChoices
    /// For whom they are encrypted.
    let recipients: [Certificate]
    /// Where they go.
    let uploads: UploadSettings
    /// What is done with them.
    let policy: ArchivePolicy
    /// How often all sessions are looked at.
    let rescanInterval: TimeSpan

    /// Reads the settings, and the certificates that they name.
    /// - Throws: `ServiceError` (bad configuration).
    package init(reading reader: ConfigurationReader) throws(ServiceError) {
        subscribe = try reader.subscribe(to: .recorder)
        logManager = try reader.reply(of: .logManager)
        choices = ArchiveChoices(
            leavingOut: try reader.values("leave-out", as: GeneratedFile.self),
            separateSections: try reader.values("separate-section", as: String.self),
            continuesOnFailure: try reader.value("continue-on-failure", default: false),
            hasBridgeInfo: try reader.value("bridge-info", default: false))
        let certificates = try reader.values("certificate", as: FilePath.self)
        uploads = try UploadSettings(reading: reader)
        let keepArchives = try reader.value("keep-archives", default: KeepTime.always)
        let keepRecordings = try reader.value("keep-recordings", default: KeepTime.always)
        rescanInterval = try reader.value("rescan-interval", default: .seconds(300))
        guard rescanInterval >= .seconds(1) else {
            throw ServiceError(
                .badConfiguration, "rescan-interval is \(rescanInterval): write 1s or more, it looks at every session")
        }
        do throws(ArchiveError) {
            recipients = try Certificate.read(certificates)
        } catch {
            throw ServiceError(.badConfiguration, error.description)
        }
        policy = ArchivePolicy(
            uploads: uploads.receiver != nil, encrypts: !recipients.isEmpty, keepArchives: keepArchives,
            keepRecordings: keepRecordings)
    }
}
