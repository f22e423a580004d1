import FoundationEssentials
import ServiceKit
import SystemPackage
import ZeroMQ

/// What the archiver reads about uploads.
///
/// | key | what it is | unit | default |
/// | --- | --- | --- | --- |
/// | `upload-to` | where archives are brought | `file:///…`, `https://…`, `s3://bucket/prefix` | nowhere |
/// | `uploads` | how many go at a time | number | 1 |
/// | `upload-limit` | what all together send in a second | size | no limit |
/// | `upload-attempts` | how often is tried in a row | number | 8 |
/// | `upload-stall` | how long nothing may move before a try is ended | duration | 2 min |
/// | `upload-headers` | fields that a web server gets: `Authorization: Bearer …`, a line each | path | none |
/// | `upload-insecure` | whether a receiver on another machine may be spoken to without encryption | true or false | false |
/// | `ca-certificate` | the authorities that certify receivers, in place of the system's, in PEM | path | the system's |
/// | `s3-endpoint` | who speaks S3 | URL | Amazon, in `s3-region` |
/// | `s3-region` | where the bucket is | name | `AWS_REGION`, else `us-east-1` |
/// | `s3-addressing` | how the bucket is named in URLs | `path`, `virtual` | `virtual` for Amazon, else `path` |
/// | `s3-credentials` | the key, as in `~/.aws/credentials` | path | `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` |
///
/// Files with secrets must be closed to other users; they are read anew for each try. `upload-to` with a query, which may
/// be a signature, belongs into the configuration file or the environment: a command line can be seen by every user.
struct UploadSettings: Sendable {
    /// Who gets the archives; `nil` where they stay here.
    let receiver: (any Receiver)?
    /// How many files are uploaded at a time.
    let count: Int
    /// What all uploads together send in a second; `nil` for no limit.
    let bytesPerSecond: Int?
    let policy: RetryPolicy
    let options: HTTPOptions

    /// Reads the settings.
    /// - Parameter environment: for the variables that other programs for S3 read too.
    /// - Throws: `ServiceError` (bad configuration).
    init(
        reading reader: ConfigurationReader, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(ServiceError) {
        let target = try reader.value("upload-to", as: UploadTarget.self)
        count = try reader.value("uploads", default: 1)
        bytesPerSecond = try reader.value("upload-limit", as: ByteCount.self)?.bytes
        var policy = RetryPolicy()
        policy.attempts = try reader.value("upload-attempts", default: policy.attempts)
        self.policy = policy
        let stall = try reader.value("upload-stall", default: TimeSpan.seconds(120))
        options = HTTPOptions(
            caCertificate: try reader.value("ca-certificate", as: FilePath.self),
            stallSeconds: Int(stall.nanoseconds / 1_000_000_000))
        let headers = try reader.value("upload-headers", as: FilePath.self)
        let isInsecure = try reader.value("upload-insecure", default: false)
        let bucket = try S3Settings(reading: reader, environment: environment)
        try Self.require((1...64).contains(count), "uploads is \(count): write 1 to 64")
        try Self.require(policy.attempts >= 1, "upload-attempts is \(policy.attempts): write 1 or more")
        try Self.require(stall >= .seconds(1), "upload-stall is \(stall): write 1s or more")
        try Self.require(bytesPerSecond ?? .max >= 1_000, "upload-limit is too low: write 1KB or more")
        switch target {
        case nil: receiver = nil
        case .directory(let path): receiver = DirectoryReceiver(directory: path)
        case .web(let template):
            try Self.require(
                template.isProtected || isInsecure,
                "upload-to \(template) would be seen by everybody on the way: use https, "
                    + "or say --upload-insecure where the network is private")
            receiver = WebReceiver(store: PutStore(template: template, headerFile: headers))
        case .bucket(let name, let prefix):
            let store = bucket.store(bucket: name, prefix: prefix)
            try Self.require(
                store.endpoint.isProtected || isInsecure,
                "s3-endpoint \(store.endpoint) would be seen by everybody on the way: use https, "
                    + "or say --upload-insecure where the network is private")
            receiver = WebReceiver(store: store)
        }
    }

    /// Checks what a look at the files tells that the settings name.
    /// - Throws: `ServiceError` (bad configuration).
    func check() throws(ServiceError) {
        do {
            if let authorities = options.caCertificate {
                try FileDescriptor.open(authorities, .readOnly, options: .closeOnExec).close()
            }
            switch receiver {
            case let directory as DirectoryReceiver:
                try FileDescriptor.open(directory.directory, .readOnly, options: [.directory, .closeOnExec]).close()
            case let web as WebReceiver:
                if let store = web.store as? PutStore, let file = store.headerFile {
                    _ = try PutStore.headers(in: file)
                }
                if let store = web.store as? S3Store { _ = try store.credentials.credentials() }
            default: break
            }
        } catch let error as InvalidValue {
            throw ServiceError(.badConfiguration, error.description)
        } catch {
            throw ServiceError(.badConfiguration, "what upload-to or ca-certificate names can't be opened: \(error)")
        }
    }

    /// Starts what uploads; `nil` where archives stay here.
    func uploader() throws(ZeroMQError) -> Uploader? {
        guard let receiver else { return nil }
        return try Uploader(
            to: receiver, count: count, bytesPerSecond: bytesPerSecond, policy: policy, options: options)
    }

    private static func require(_ condition: Bool, _ complaint: @autoclosure () -> String) throws(ServiceError) {
        guard condition else { throw ServiceError(.badConfiguration, complaint()) }
    }
}
