package import Messages

/// The next step for a session.
package enum ArchiveStep: Hashable, Sendable {
    /// Make the session's archives.
    case make
    /// Upload the session's archives, and write the receipt.
    case upload
    /// Refuse to upload this archive, because it must be encrypted and is not.
    case refuse(String)
    /// Refuse to replace this archive, because it belongs to an earlier session.
    case spare(String)
    /// Mark the stream files through log-manager.
    case mark
    /// Request log-manager to remove the stream files.
    case removeRecordings
    /// Remove the archives.
    case removeArchives
    /// Remove the remaining files of a discarded session.
    case discard
    /// Wait until this time.
    case later(WallTime)
    /// Nothing, unless something changes.
    case done

    /// The lane and time of a step.
    struct Place {
        var lane: ArchiveLane
        /// The earliest time; nil for now.
        var date: WallTime?
    }

    /// The lane of a step that is due now; nil if there is none.
    package var lane: ArchiveLane? {
        switch self {
        case .make, .spare: .making
        case .upload, .refuse: .uploading
        case .mark, .removeRecordings, .removeArchives, .discard: .settling
        case .later, .done: nil
        }
    }

    /// Nil if nothing is due, now or later.
    var place: Place? {
        if case .later(let date) = self { return Place(lane: .settling, date: date) }
        return lane.map { Place(lane: $0) }
    }
}

/// Independent kinds of work: archives are made even while the receiver is unavailable.
package enum ArchiveLane: Hashable, Sendable, CaseIterable {
    case making, uploading, settling
}
