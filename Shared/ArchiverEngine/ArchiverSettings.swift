import ArchiverCore
import Archives
import Encryption
package import Messages
import Recording
package import ServiceKit
package import Upload

/// The archiver's settings in addition to `ServiceSettings`.
package struct ArchiverSettings: SettingGroup {
    @Setting(listeningTo: .recorder, "Subscribe to this recorder; may be repeated.")
    var subscribe: [Endpoint]

    @Setting(asking: .logManager, "Mark and remove stream files through this log-manager.")
    var logManager: Endpoint

    let archives = ArchiveSettings()
    package private(set) var uploads = UploadSettings()

    @Setting("Also archive and upload cancelled sessions.")
    private var archiveCancelled = false

    @Setting("Keep uploaded archives always, or for this long.", valueName: "time")
    private var keepArchives = KeepTime.always

    @Setting("Keep uploaded stream files always, or for this long.", valueName: "time")
    private var keepRecordings = KeepTime.always

    @Setting(
        "Look for finished sessions this often.", accepting: { $0 >= .seconds(1) },
        otherwise: "1s or more: it looks at every session each time")
    var rescanInterval = TimeSpan.seconds(300)

    /// The certificates to which archives are encrypted.
    private(set) var recipients: [Certificate] = []

    package init() {}

    var choices: ArchiveChoices { archives.choices }

    var policy: ArchivePolicy {
        ArchivePolicy(
            uploads: uploads.isOn, encrypts: !recipients.isEmpty, archivesCancelled: archiveCancelled,
            keepArchives: keepArchives,
            keepRecordings: keepRecordings)
    }

    /// Reads the certificates. Their dates are checked only when an archive is made, so that an expired one does not stop uploads
    /// or removals.
    /// - Throws: `ServiceError` (bad configuration).
    package mutating func complete(reading reader: ConfigurationReader) throws(ServiceError) {
        try uploads.complete(reading: reader)
        do throws(ArchiveError) {
            recipients = try archives.recipients(at: nil)
        } catch {
            throw ServiceError(.badConfiguration, error.description)
        }
    }

    /// Rejects certificates that are not valid at a date.
    /// - Throws: `ServiceError` (bad configuration).
    package func checkCertificates(at date: WallTime) throws(ServiceError) {
        do throws(ArchiveError) {
            for recipient in recipients { try recipient.check(at: date) }
        } catch {
            throw ServiceError(.badConfiguration, error.description)
        }
    }
}
