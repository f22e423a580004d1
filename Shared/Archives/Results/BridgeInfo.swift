import Messages

/// The contents of `info.json`, which lists an archive's files for Bridge's earlier versions.
struct BridgeInfo: Encodable {
    static let fileName = "info.json"
    static let answersSchemaName = "answers_schema.json"

    let files: [File]
    let item: String
    let appName: String
    let appVersion: String
    let phoneInfo: String
    let dataFilename = GeneratedFile.answers.fileName
    let format = "v2_generic"
    let createdOn: WallTime
    let schemaRevision: Int?
    let taskRun: String

    struct File: Encodable {
        let filename: String
        let timestamp: WallTime
        let contentType: String
    }

    init(_ metadata: ArchiveMetadata) {
        files = metadata.files.map {
            File(filename: $0.filename, timestamp: $0.timestamp, contentType: $0.contentType)
        }
        item = metadata.schemaIdentifier ?? metadata.taskIdentifier
        appName = metadata.appName
        appVersion = metadata.appVersion
        phoneInfo = metadata.deviceInfo
        createdOn = metadata.endDate
        schemaRevision = metadata.schemaRevision
        taskRun = metadata.taskRunUUID
    }
}
