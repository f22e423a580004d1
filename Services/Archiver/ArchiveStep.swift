import Messages

/// What is to be done next for a session.
enum ArchiveStep: Hashable, Sendable {
    /// Make its archive.
    case make
    /// Bring its archive to the receiver, and write the receipt.
    case upload
    /// Refuse to upload an archive of this name, for it is not encrypted and is to be.
    case refuse(String)
    /// Mark its log files at log-manager.
    case mark
    /// Ask log-manager to remove its log files.
    case removeRecordings
    /// Remove its archives.
    case removeArchives
    /// Nothing before this moment.
    case later(WallTime)
    /// Nothing, unless something changes.
    case done

    /// Who does it; `nil` where there is nothing to do now.
    var lane: ArchiveLane? {
        switch self {
        case .make: .making
        case .upload, .refuse: .uploading
        case .mark, .removeRecordings, .removeArchives: .settling
        case .later, .done: nil
        }
    }
}

/// Work that does not wait for work of another kind: archives are made while a receiver is away.
enum ArchiveLane: Hashable, Sendable, CaseIterable {
    case making, uploading, settling
}
