/// Configures how a log, or all logs that match a pattern, are written: `logs.add`. A name that is already added is refused.
public struct LogsAdd: Request, Hashable {
    /// The name on the wire.
    public static let method = "logs.add"
    /// The required role.
    public var neededRole: Role { .command }
    /// A repeated request is refused.
    public static let isRepeatable = false
    /// The log's configuration after the change.
    public typealias Reply = LogConfiguration

    /// The log's name; or a pattern of names, in which each `*` matches any characters: `left-*`.
    public var name: String
    /// `json`, `csv` or `tsv`; if omitted, the recording's format.
    public var format: String?
    /// The size in bytes at which a file is finished, 0 for no limit; if omitted, log-manager's `--maximum-file-size`.
    public var maximumFileSize: Int?
    /// The age in seconds at which a file is finished, 0 for no limit; if omitted, log-manager's `--maximum-file-age`.
    public var maximumFileAge: Double?

    /// Creates the request.
    public init(
        name: String, format: String? = nil, maximumFileSize: Int? = nil, maximumFileAge: Double? = nil
    ) {
        self.name = name
        self.format = format
        self.maximumFileSize = maximumFileSize
        self.maximumFileAge = maximumFileAge
    }
}

/// Changes how a log is written: `logs.set`. A log that was neither added nor has files is refused as `unknownLog`. Recorders
/// that write the log adopt the change within a minute.
public struct LogsSet: Request, Hashable {
    /// The name on the wire.
    public static let method = "logs.set"
    /// The required role.
    public var neededRole: Role { .command }
    /// The log's configuration after the change.
    public typealias Reply = LogConfiguration

    /// The log's name, or a pattern that was added.
    public var name: String
    /// `json`, `csv` or `tsv`, from the log's next session on. Omitted values stay unchanged, here and below.
    public var format: String?
    /// The size in bytes at which a file is finished; 0 for no limit.
    public var maximumFileSize: Int?
    /// The age in seconds at which a file is finished; 0 for no limit.
    public var maximumFileAge: Double?

    /// Creates the request.
    public init(
        name: String, format: String? = nil, maximumFileSize: Int? = nil, maximumFileAge: Double? = nil
    ) {
        self.name = name
        self.format = format
        self.maximumFileSize = maximumFileSize
        self.maximumFileAge = maximumFileAge
    }
}

/// Finishes the files that are being written, and begins new ones: `logs.finish`. The recorder that writes them replies once
/// the finished files are listed in `session.json`. A file without samples is not finished.
public struct LogsFinish: Request, Hashable {
    /// The name on the wire.
    public static let method = "logs.finish"
    /// The required role.
    public var neededRole: Role { .command }
    /// A repeated request finishes what was written since.
    public static let isRepeatable = false

    /// The finished files.
    public struct Reply: Codable, Hashable, Sendable {
        /// The files' paths under the data directory.
        public var files: [String]

        /// Creates the reply.
        public init(files: [String]) { self.files = files }
    }

    /// The log's name, or a pattern of names; all logs if omitted.
    public var name: String?
    /// The session's name; all running sessions if omitted.
    public var session: String?

    /// Creates the request.
    public init(name: String? = nil, session: String? = nil) {
        self.name = name
        self.session = session
    }
}

/// Removes a log's configuration, and deletes its finished files: `logs.remove`.
///
/// If there are files, the request is refused with their number, unless `deleteFiles` permits deleting them. Removing a pattern
/// deletes no files.
public struct LogsRemove: Request, Hashable {
    /// The name on the wire.
    public static let method = "logs.remove"
    /// Needs `delete` only if files may be deleted.
    public var neededRole: Role { deleteFiles == true ? .delete : .command }
    /// A repeated request is refused.
    public static let isRepeatable = false

    /// The removed log and files.
    public struct Reply: Codable, Hashable, Sendable {
        /// The log's name.
        public var name: String
        /// The deleted files' paths under the data directory.
        public var removed: [String]

        /// Creates the reply.
        public init(name: String, removed: [String]) {
            self.name = name
            self.removed = removed
        }
    }

    /// The log's name.
    public var name: String
    /// Whether the log's finished files may be deleted, uploaded or not.
    public var deleteFiles: Bool?

    /// Creates the request.
    public init(name: String, deleteFiles: Bool? = nil) {
        self.name = name
        self.deleteFiles = deleteFiles
    }
}

/// Asks for the logs that were added or have files: `logs.names`.
public struct LogsNames: Request, Hashable {
    /// The name on the wire.
    public static let method = "logs.names"
    /// The required role.
    public var neededRole: Role { .listen }

    /// The names of logs.
    public struct Reply: Codable, Hashable, Sendable {
        /// The names, in alphabetical order.
        public var names: [String]
        /// The patterns that were added, in alphabetical order; nil if there are none.
        public var patterns: [String]?

        /// Creates the reply.
        public init(names: [String], patterns: [String]? = nil) {
            self.names = names
            self.patterns = patterns
        }
    }

    /// Creates the request.
    public init() {}
}

/// Asks how a log is written: `logs.get`. A log that was not added and has no files, and that is no added pattern, is refused
/// as `unknownLog`.
public struct LogsGet: Request, Hashable {
    /// The name on the wire.
    public static let method = "logs.get"
    /// The required role.
    public var neededRole: Role { .listen }
    /// The log's configuration.
    public typealias Reply = LogConfiguration

    /// The log's name, or a pattern that was added.
    public var name: String
    /// Whether to answer for an unknown log, too, with its default configuration.
    public var orDefaults: Bool?

    /// Creates the request.
    public init(name: String, orDefaults: Bool? = nil) {
        self.name = name
        self.orDefaults = orDefaults
    }
}

/// Finished stream files, oldest first.
public struct LogFileList: Codable, Hashable, Sendable {
    /// The files.
    public var files: [LogFileEntry]
    /// Whether more files follow: repeat the request with `after` set to the last path. Long receipts can make a reply
    /// shorter than the requested limit.
    public var more: Bool?

    /// Creates a list.
    public init(files: [LogFileEntry], more: Bool? = nil) {
        self.files = files
        self.more = more
    }
}

/// Asks for finished stream files, oldest first: `logs.list`.
public struct LogsList: Request, Hashable {
    /// The name on the wire.
    public static let method = "logs.list"
    /// The required role.
    public var neededRole: Role { .listen }
    /// The maximum number of files in a reply.
    public static let maximumLimit = 50_000
    /// The files.
    public typealias Reply = LogFileList

    /// The log's name; all logs if omitted.
    public var name: String?
    /// The path of a file: only files finished after it are listed.
    public var after: String?
    /// The maximum number of files in the reply; 50,000 if omitted.
    public var limit: Int?
    /// If true only files that are marked as uploaded, if false only those that are not; if omitted both.
    public var uploaded: Bool?

    /// Creates the request.
    public init(name: String? = nil, after: String? = nil, limit: Int? = nil, uploaded: Bool? = nil) {
        self.name = name
        self.after = after
        self.limit = limit
        self.uploaded = uploaded
    }
}

/// Asks for finished stream files that are not marked as uploaded, oldest first: `logs.needingUpload`.
public struct LogsNeedingUpload: Request, Hashable {
    /// The name on the wire.
    public static let method = "logs.needingUpload"
    /// The required role.
    public var neededRole: Role { .listen }
    /// The files.
    public typealias Reply = LogFileList

    /// The log's name; all logs if omitted.
    public var name: String?
    /// The path of a file: only files finished after it are listed.
    public var after: String?
    /// The maximum number of files in the reply; 50,000 if omitted.
    public var limit: Int?

    /// Creates the request.
    public init(name: String? = nil, after: String? = nil, limit: Int? = nil) {
        self.name = name
        self.after = after
        self.limit = limit
    }
}

/// The outcome of a request for several files.
public struct LogFileOutcome: Codable, Hashable, Sendable {
    /// The paths for which the request succeeded.
    public var done: [String]
    /// The files for which it was refused.
    public var refused: [Refusal]

    /// A file that was refused.
    public struct Refusal: Codable, Hashable, Sendable {
        /// The path as the client sent it.
        public var path: String
        /// The reason, for a person.
        public var reason: String

        /// Creates a refusal.
        public init(path: String, reason: String) {
            self.path = path
            self.reason = reason
        }
    }

    /// Creates an outcome.
    public init(done: [String], refused: [Refusal]) {
        self.done = done
        self.refused = refused
    }
}

/// Marks files as uploaded: `logs.markUploaded`. Each path succeeds or is refused on its own.
public struct LogsMarkUploaded: Request, Hashable {
    /// The name on the wire.
    public static let method = "logs.markUploaded"
    /// Needs `delete`, because marked files may be removed.
    public var neededRole: Role { .delete }
    /// The outcome for each path.
    public typealias Reply = LogFileOutcome

    /// A file as it was uploaded.
    public struct File: Codable, Hashable, Sendable {
        /// The path, one of `paths`.
        public var path: String
        /// The size.
        public var bytes: Int
        /// The SHA-256 in lower-case hexadecimal digits; compared only if log-manager knows the file's.
        public var sha256: String?

        /// Creates the description of a file.
        public init(path: String, bytes: Int, sha256: String? = nil) {
            self.path = path
            self.bytes = bytes
            self.sha256 = sha256
        }
    }

    /// The files' paths under the data directory.
    public var paths: [String]
    /// The receiver's confirmation; any JSON.
    public var receipt: JSONValue?
    /// What was uploaded. A file that differs from it is refused; one that is not described here is not compared.
    public var files: [File]?

    /// Creates the request.
    public init(paths: [String], receipt: JSONValue? = nil, files: [File]? = nil) {
        self.paths = paths
        self.receipt = receipt
        self.files = files
    }
}

/// Removes marks from files: `logs.unmarkUploaded`. Each path succeeds or is refused on its own.
public struct LogsUnmarkUploaded: Request, Hashable {
    /// The name on the wire.
    public static let method = "logs.unmarkUploaded"
    /// The required role.
    public var neededRole: Role { .command }
    /// The outcome for each path.
    public typealias Reply = LogFileOutcome

    /// The files' paths under the data directory.
    public var paths: [String]

    /// Creates the request.
    public init(paths: [String]) { self.paths = paths }
}

/// Removes files that are marked as uploaded: `logs.removeUploaded`. Each path succeeds or is refused on its own.
public struct LogsRemoveUploaded: Request, Hashable {
    /// The name on the wire.
    public static let method = "logs.removeUploaded"
    /// The required role.
    public var neededRole: Role { .delete }
    /// A repeated request would refuse the files that the first one removed.
    public static let isRepeatable = false
    /// The outcome for each path.
    public typealias Reply = LogFileOutcome

    /// The files' paths under the data directory.
    public var paths: [String]

    /// Creates the request.
    public init(paths: [String]) { self.paths = paths }
}

/// Removes files until the rest takes at most `bytes`: `logs.removeOldAndUploaded`. Uploaded files are removed first, then the
/// oldest of the others. If that is not enough, all that can be removed is removed, and the request is refused as `notEnough`.
public struct LogsRemoveOldAndUploaded: Request, Hashable {
    /// The name on the wire.
    public static let method = "logs.removeOldAndUploaded"
    /// The required role.
    public var neededRole: Role { .delete }
    /// A repeated request would not list the first one's removals.
    public static let isRepeatable = false

    /// The removed files.
    public struct Reply: Codable, Hashable, Sendable {
        /// The removed files' paths under the data directory.
        public var removed: [String]
        /// The total size of the remaining finished files.
        public var totalBytes: Int

        /// Creates the reply.
        public init(removed: [String], totalBytes: Int) {
            self.removed = removed
            self.totalBytes = totalBytes
        }
    }

    /// The maximum total size of the files that remain.
    public var bytes: Int

    /// Creates the request.
    public init(bytes: Int) { self.bytes = bytes }
}

/// The sizes at which an event is published, once per crossing; the value must recover before the next event. 0 disables a
/// threshold.
public struct LogThresholds: Codable, Hashable, Sendable {
    /// Crossed if the finished files that are not uploaded have more bytes than this.
    public var pendingUploadBytes: Int
    /// Crossed if all finished files have more bytes than this.
    public var totalBytes: Int
    /// Crossed if fewer bytes than this are free on the disk.
    public var minimumFreeBytes: Int

    /// Creates thresholds.
    public init(pendingUploadBytes: Int = 0, totalBytes: Int = 0, minimumFreeBytes: Int = 0) {
        self.pendingUploadBytes = pendingUploadBytes
        self.totalBytes = totalBytes
        self.minimumFreeBytes = minimumFreeBytes
    }
}

/// Asks for the thresholds: `logs.thresholds`.
public struct LogsThresholds: Request, Hashable {
    /// The name on the wire.
    public static let method = "logs.thresholds"
    /// The required role.
    public var neededRole: Role { .listen }
    /// The thresholds.
    public typealias Reply = LogThresholds

    /// Creates the request.
    public init() {}
}

/// Changes thresholds, and compares at once: `logs.setThresholds`. Omitted values stay unchanged.
public struct LogsSetThresholds: Request, Hashable {
    /// The name on the wire.
    public static let method = "logs.setThresholds"
    /// Needs `delete`, because thresholds decide what `--when-full` removes.
    public var neededRole: Role { .delete }
    /// The thresholds after the change.
    public typealias Reply = LogThresholds

    /// The new value, in bytes; see `LogThresholds`.
    public var pendingUploadBytes: Int?
    /// The new value, in bytes; see `LogThresholds`.
    public var totalBytes: Int?
    /// The new value, in bytes; see `LogThresholds`.
    public var minimumFreeBytes: Int?

    /// Creates the request.
    public init(pendingUploadBytes: Int? = nil, totalBytes: Int? = nil, minimumFreeBytes: Int? = nil) {
        self.pendingUploadBytes = pendingUploadBytes
        self.totalBytes = totalBytes
        self.minimumFreeBytes = minimumFreeBytes
    }
}

/// Asks for the sizes of files: `logs.usage`.
public struct LogsUsage: Request, Hashable {
    /// The name on the wire.
    public static let method = "logs.usage"
    /// The required role.
    public var neededRole: Role { .listen }

    /// The sizes of files.
    public struct Reply: Codable, Hashable, Sendable {
        /// Bytes of the finished files that are not uploaded.
        public var pendingUploadBytes: Int
        /// Bytes of all finished files.
        public var totalBytes: Int
        /// Bytes of the files that are still being written.
        public var currentBytes: Int
        /// Bytes free on the disk, available to unprivileged processes.
        public var freeBytes: Int
        /// Usage by log, sorted by name, if requested with `logs`.
        public var logs: [Log]?
        /// Bytes of all other files under `recordings`: `session.json`, reports, files of steps, the write-ahead log.
        public var otherBytes: Int?

        /// Creates the reply.
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
        /// The log's name.
        public var name: String
        /// The number of finished files.
        public var files: Int
        /// Their total size.
        public var bytes: Int
        /// The number of them that are not uploaded.
        public var pendingFiles: Int
        /// Their total size.
        public var pendingBytes: Int
        /// When the oldest file was finished.
        public var oldest: WallTime?
        /// Bytes of the files that are still being written; nil if there are none.
        public var currentBytes: Int?

        /// Creates a log's usage.
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

    /// Whether the reply lists each log.
    public var logs: Bool?

    /// Creates the request.
    public init(logs: Bool? = nil) { self.logs = logs }

    /// Adds the sizes of files that are being written to their logs, and logs that have only such files; sorted by name.
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
