package import Messages

/// What is to be done next for a session.
package enum ArchiveStep: Hashable, Sendable {
    /// Make its archive.
    case make
    /// Bring its archive to the receiver, and write the receipt.
    case upload
    /// Refuse to upload an archive of this name, for it is not encrypted and is to be.
    case refuse(String)
    /// Refuse to make its archive in place of one of this name, which is of an earlier session.
    case spare(String)
    /// Mark its log files at log-manager.
    case mark
    /// Ask log-manager to remove its log files.
    case removeRecordings
    /// Remove its archives.
    case removeArchives
    /// Remove all that is left of a session that was discarded.
    case discard
    /// Nothing before this moment.
    case later(WallTime)
    /// Nothing, unless something changes.
    case done

    /// Where a step is done, and when.
    struct Place {
        var lane: ArchiveLane
        /// Not before this moment; nil for now.
        var date: WallTime?
    }

    /// The lane of what is to be done now; nil if there is nothing.
    package var lane: ArchiveLane? {
        switch self {
        case .make, .spare: .making
        case .upload, .refuse: .uploading
        case .mark, .removeRecordings, .removeArchives, .discard: .settling
        case .later, .done: nil
        }
    }

    /// Nil if there is nothing to be done, now or later.
    var place: Place? {
        if case .later(let date) = self { return Place(lane: .settling, date: date) }
        return lane.map { Place(lane: $0) }
    }
}

/// Work that does not wait for work of another kind: archives are made while a receiver is away.
package enum ArchiveLane: Hashable, Sendable, CaseIterable {
    case making, uploading, settling
}
