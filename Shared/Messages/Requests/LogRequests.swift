/// Adds how a log, or all logs of a pattern, are to be written: `logs.add`. A name that was added already is refused.
public struct LogsAdd: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "logs.add"
    /// Who may ask.
    public var neededRole: Role { .command }
    /// A second one is refused.
    public static let isRepeatable = false
    /// What is known of the log then.
    public typealias Reply = LogConfiguration

    /// The log; or a pattern of logs, in which each `*` stands for any characters: `left-*`.
    public var name: String
    /// `json`, `csv` or `tsv`; if omitted, what the recording says.
    public var format: String?
    /// Bytes at which a file is finished, 0 for never; if omitted, log-manager's `--maximum-file-size`.
    public var maximumFileSize: Int?
    /// Seconds after which a file is finished, 0 for never; if omitted, log-manager's `--maximum-file-age`.
    public var maximumFileAge: Double?

    /// Adds a log.
    public init(
        name: String, format: String? = nil, maximumFileSize: Int? = nil, maximumFileAge: Double? = nil
    ) {
        self.name = name
        self.format = format
        self.maximumFileSize = maximumFileSize
        self.maximumFileAge = maximumFileAge
    }
}

/// Changes how a log is to be written that was added or has files: `logs.set`. A log that is neither is refused as
/// `unknownLog`. Recorders that write the log learn of it within a minute.
public struct LogsSet: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "logs.set"
    /// Who may ask.
    public var neededRole: Role { .command }
    /// What is known of the log then.
    public typealias Reply = LogConfiguration

    /// The log, or a pattern that was added.
    public var name: String
    /// `json`, `csv` or `tsv`, from the log's next session on. What is omitted stays as it is, here and below.
    public var format: String?
    /// Bytes at which a file is finished; 0 for never.
    public var maximumFileSize: Int?
    /// Seconds after which a file is finished; 0 for never.
    public var maximumFileAge: Double?

    /// Changes a log.
    public init(
        name: String, format: String? = nil, maximumFileSize: Int? = nil, maximumFileAge: Double? = nil
    ) {
        self.name = name
        self.format = format
        self.maximumFileSize = maximumFileSize
        self.maximumFileAge = maximumFileAge
    }
}

/// Finishes files that are being written, and begins new ones: `logs.finish`. The recorder that writes them answers, once the
/// finished files are listed in `session.json`. A file without samples stays as it is.
public struct LogsFinish: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "logs.finish"
    /// Who may ask.
    public var neededRole: Role { .command }
    /// A second one finishes what was written since.
    public static let isRepeatable = false

    /// What is finished.
    public struct Reply: Codable, Hashable, Sendable {
        /// The files, by their paths under the data directory.
        public var files: [String]

        /// An answer.
        public init(files: [String]) { self.files = files }
    }

    /// The log, or a pattern of logs; all if omitted.
    public var name: String?
    /// The session; all that are being recorded if omitted.
    public var session: String?

    /// Finishes files.
    public init(name: String? = nil, session: String? = nil) {
        self.name = name
        self.session = session
    }
}

/// Forgets how a log is to be written, and deletes its finished files: `logs.remove`.
///
/// If there are files, it is refused with how many, unless `deleteFiles` says that they may go. Removing a pattern deletes no
/// files.
public struct LogsRemove: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "logs.remove"
    /// Deletes files where it says so.
    public var neededRole: Role { deleteFiles == true ? .delete : .command }
    /// A second one is refused.
    public static let isRepeatable = false

    /// What is gone.
    public struct Reply: Codable, Hashable, Sendable {
        /// The log.
        public var name: String
        /// The files that were deleted, by their paths under the data directory.
        public var removed: [String]

        /// A removed log.
        public init(name: String, removed: [String]) {
            self.name = name
            self.removed = removed
        }
    }

    /// The log.
    public var name: String
    /// Whether its finished files may be deleted, uploaded or not.
    public var deleteFiles: Bool?

    /// Removes a log.
    public init(name: String, deleteFiles: Bool? = nil) {
        self.name = name
        self.deleteFiles = deleteFiles
    }
}

/// Asks which logs were added or have files: `logs.names`.
public struct LogsNames: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "logs.names"
    /// Who may ask.
    public var neededRole: Role { .listen }

    /// The names.
    public struct Reply: Codable, Hashable, Sendable {
        /// In alphabetical order.
        public var names: [String]
        /// The patterns that were added, in alphabetical order; nil if there are none.
        public var patterns: [String]?

        /// An answer.
        public init(names: [String], patterns: [String]? = nil) {
            self.names = names
            self.patterns = patterns
        }
    }

    /// Asks.
    public init() {}
}

/// Asks how a log is to be written: `logs.get`. A log that was not added, has no files and no pattern's name is refused as
/// `unknownLog`.
public struct LogsGet: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "logs.get"
    /// Who may ask.
    public var neededRole: Role { .listen }
    /// What is known of it.
    public typealias Reply = LogConfiguration

    /// The log, or a pattern that was added.
    public var name: String
    /// Whether a log that is not known is answered for too: as it would be written.
    public var orDefaults: Bool?

    /// Asks.
    public init(name: String, orDefaults: Bool? = nil) {
        self.name = name
        self.orDefaults = orDefaults
    }
}

/// Finished files, oldest first.
public struct LogFileList: Codable, Hashable, Sendable {
    /// The files.
    public var files: [LogFileEntry]
    /// Whether there are more: ask again with `after` the last one's path.
    public var more: Bool?

    /// A list.
    public init(files: [LogFileEntry], more: Bool? = nil) {
        self.files = files
        self.more = more
    }
}

/// Asks for finished files, oldest first: `logs.list`.
public struct LogsList: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "logs.list"
    /// Who may ask.
    public var neededRole: Role { .listen }
    /// How many files an answer has at most.
    public static let maximumLimit = 50_000
    /// The files.
    public typealias Reply = LogFileList

    /// The log; all of them if omitted.
    public var name: String?
    /// Only files that were finished after this one.
    public var after: String?
    /// At most so many files; 50,000 if omitted.
    public var limit: Int?
    /// Only files that are marked as uploaded, or with false only those that are not.
    public var uploaded: Bool?

    /// Asks.
    public init(name: String? = nil, after: String? = nil, limit: Int? = nil, uploaded: Bool? = nil) {
        self.name = name
        self.after = after
        self.limit = limit
        self.uploaded = uploaded
    }
}

/// Asks for finished files that are not marked as uploaded, oldest first: `logs.needingUpload`.
public struct LogsNeedingUpload: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "logs.needingUpload"
    /// Who may ask.
    public var neededRole: Role { .listen }
    /// The files.
    public typealias Reply = LogFileList

    /// The log; all of them if omitted.
    public var name: String?
    /// Only files that were finished after this one.
    public var after: String?
    /// At most so many files; 50,000 if omitted.
    public var limit: Int?

    /// Asks.
    public init(name: String? = nil, after: String? = nil, limit: Int? = nil) {
        self.name = name
        self.after = after
        self.limit = limit
    }
}

/// What became of each of several files.
public struct LogFileOutcome: Codable, Hashable, Sendable {
    /// The paths with which it was done.
    public var done: [String]
    /// Those with which it was not.
    public var refused: [Refusal]

    /// A file that was refused.
    public struct Refusal: Codable, Hashable, Sendable {
        /// The path as it was asked for.
        public var path: String
        /// Why not, for a person.
        public var reason: String

        /// A refusal.
        public init(path: String, reason: String) {
            self.path = path
            self.reason = reason
        }
    }

    /// An outcome.
    public init(done: [String], refused: [Refusal]) {
        self.done = done
        self.refused = refused
    }
}

/// Marks files as uploaded: `logs.markUploaded`. Each path is done or refused by itself.
public struct LogsMarkUploaded: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "logs.markUploaded"
    /// What is marked may be removed.
    public var neededRole: Role { .delete }
    /// What became of each.
    public typealias Reply = LogFileOutcome

    /// The files, by their paths under the data directory.
    public var paths: [String]
    /// What the receiver said when it confirmed them; any JSON.
    public var receipt: JSONValue?

    /// Marks files.
    public init(paths: [String], receipt: JSONValue? = nil) {
        self.paths = paths
        self.receipt = receipt
    }
}

/// Takes marks back: `logs.unmarkUploaded`. Each path is done or refused by itself.
public struct LogsUnmarkUploaded: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "logs.unmarkUploaded"
    /// Who may ask.
    public var neededRole: Role { .command }
    /// What became of each.
    public typealias Reply = LogFileOutcome

    /// The files, by their paths under the data directory.
    public var paths: [String]

    /// Unmarks files.
    public init(paths: [String]) { self.paths = paths }
}

/// Removes files that are marked as uploaded: `logs.removeUploaded`. Each path is done or refused by itself.
public struct LogsRemoveUploaded: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "logs.removeUploaded"
    /// Who may ask.
    public var neededRole: Role { .delete }
    /// A second one would refuse what the first removed.
    public static let isRepeatable = false
    /// What became of each.
    public typealias Reply = LogFileOutcome

    /// The files, by their paths under the data directory.
    public var paths: [String]

    /// Removes files.
    public init(paths: [String]) { self.paths = paths }
}

/// Removes files until all together have no more than so many bytes: `logs.removeOldAndUploaded`. Uploaded ones go first,
/// then the oldest of the others. Where that is not enough, it is refused as `notEnough`, with what could go gone.
public struct LogsRemoveOldAndUploaded: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "logs.removeOldAndUploaded"
    /// Who may ask.
    public var neededRole: Role { .delete }
    /// The reply says what this one removed.
    public static let isRepeatable = false

    /// What is gone.
    public struct Reply: Codable, Hashable, Sendable {
        /// The files that were removed, by their paths under the data directory.
        public var removed: [String]
        /// Bytes of all finished files afterwards.
        public var totalBytes: Int

        /// An answer.
        public init(removed: [String], totalBytes: Int) {
            self.removed = removed
            self.totalBytes = totalBytes
        }
    }

    /// How many bytes may be left.
    public var bytes: Int

    /// Removes files.
    public init(bytes: Int) { self.bytes = bytes }
}

/// At which sizes an event is published: once per crossing, again after the value was back. 0 is off.
public struct LogThresholds: Codable, Hashable, Sendable {
    /// Crossed where the finished files that are not uploaded have more bytes than this.
    public var pendingUploadBytes: Int
    /// Crossed where all finished files have more bytes than this.
    public var totalBytes: Int
    /// Crossed where fewer bytes than this are free on the disk.
    public var minimumFreeBytes: Int

    /// Thresholds.
    public init(pendingUploadBytes: Int = 0, totalBytes: Int = 0, minimumFreeBytes: Int = 0) {
        self.pendingUploadBytes = pendingUploadBytes
        self.totalBytes = totalBytes
        self.minimumFreeBytes = minimumFreeBytes
    }
}

/// Asks for the thresholds: `logs.thresholds`.
public struct LogsThresholds: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "logs.thresholds"
    /// Who may ask.
    public var neededRole: Role { .listen }
    /// The thresholds.
    public typealias Reply = LogThresholds

    /// Asks.
    public init() {}
}

/// Changes thresholds, and compares at once: `logs.setThresholds`. What is left out stays as it is.
public struct LogsSetThresholds: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "logs.setThresholds"
    /// Thresholds decide what is removed where `--when-full` says so.
    public var neededRole: Role { .delete }
    /// The thresholds then.
    public typealias Reply = LogThresholds

    /// As in `LogThresholds`.
    public var pendingUploadBytes: Int?
    /// As in `LogThresholds`.
    public var totalBytes: Int?
    /// As in `LogThresholds`.
    public var minimumFreeBytes: Int?

    /// Changes thresholds.
    public init(pendingUploadBytes: Int? = nil, totalBytes: Int? = nil, minimumFreeBytes: Int? = nil) {
        self.pendingUploadBytes = pendingUploadBytes
        self.totalBytes = totalBytes
        self.minimumFreeBytes = minimumFreeBytes
    }
}

/// Asks how much there is: `logs.usage`.
public struct LogsUsage: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "logs.usage"
    /// Who may ask.
    public var neededRole: Role { .listen }

    /// How much there is.
    public struct Reply: Codable, Hashable, Sendable {
        /// Bytes of the finished files that are not uploaded.
        public var pendingUploadBytes: Int
        /// Bytes of all finished files.
        public var totalBytes: Int
        /// Bytes of the files that are being written.
        public var currentBytes: Int
        /// Bytes free on the disk, available to unprivileged processes.
        public var freeBytes: Int
        /// Each log, if it was asked for, by name.
        public var logs: [Log]?
        /// Bytes of all else under `recordings`: `session.json`, reports, files of steps, the write-ahead log.
        public var otherBytes: Int?

        /// An answer.
        public init(
            pendingUploadBytes: Int, totalBytes: Int, currentBytes: Int, freeBytes: Int, logs: [Log]? = nil,
            otherBytes: Int? = nil
        ) {
            self.otherBytes = otherBytes
            self.pendingUploadBytes = pendingUploadBytes
            self.totalBytes = totalBytes
            self.currentBytes = currentBytes
            self.freeBytes = freeBytes
            self.logs = logs
        }
    }

    /// The finished files of one log.
    public struct Log: Codable, Hashable, Sendable {
        /// The log.
        public var name: String
        /// How many files.
        public var files: Int
        /// Their bytes.
        public var bytes: Int
        /// How many of them are not uploaded.
        public var pendingFiles: Int
        /// The bytes of those.
        public var pendingBytes: Int
        /// When the oldest was finished.
        public var oldest: WallTime?
        /// Bytes of the files that are being written; nil if there are none.
        public var currentBytes: Int?

        /// A log.
        public init(
            name: String, files: Int, bytes: Int, pendingFiles: Int, pendingBytes: Int, oldest: WallTime? = nil,
            currentBytes: Int? = nil
        ) {
            self.currentBytes = currentBytes
            self.name = name
            self.files = files
            self.bytes = bytes
            self.pendingFiles = pendingFiles
            self.pendingBytes = pendingBytes
            self.oldest = oldest
        }
    }

    /// Whether to tell of each log.
    public var logs: Bool?

    /// Asks.
    public init(logs: Bool? = nil) { self.logs = logs }

    /// Adds the files that are being written to those of their logs, and logs that have no others, by name.
    package static func adding(_ current: [(log: String, bytes: Int)], to logs: [Log]) -> [Log] {
        var logs = logs
        for (name, bytes) in current {
            if let index = logs.firstIndex(where: { $0.name == name }) {
                logs[index].currentBytes = bytes
            } else {
                logs.append(
                    Log(name: name, files: 0, bytes: 0, pendingFiles: 0, pendingBytes: 0, currentBytes: bytes))
            }
        }
        return logs.sorted { $0.name < $1.name }
    }
}
