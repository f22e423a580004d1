import Files
package import ServiceKit
package import SystemPackage
package import ZeroMQ

/// The archiver's settings for uploads.
///
/// Files with secrets must not be accessible to other users; they are read for each attempt. Put an `upload-to` with a query,
/// which may be a signature, into the configuration file or the environment: every user can see command lines.
package struct UploadSettings: SettingGroup {
    package static let title = "Uploads"

    @Setting(
        "Upload archives here: file:///directory, https://host/path/ or s3://bucket/prefix.", name: "upload-to",
        valueName: "place", default: "nowhere")
    var target: UploadTarget?

    @Setting(
        "Upload this many archives at a time.", name: "uploads", accepting: { (1...64).contains($0) },
        otherwise: "1 to 64")
    package var count = 1

    @Setting("Send at most this many bytes per second in total.", valueName: "size")
    private var uploadLimit: ByteCount?

    @Setting("Try at most this many times in a row.", accepting: { $0 >= 1 }, otherwise: "1 or more")
    private var uploadAttempts = RetryPolicy().attempts

    @Setting(
        "Give up a try that makes no progress for this long.", accepting: { $0 >= .seconds(1) }, otherwise: "1s or more"
    )
    private var uploadStall = TimeSpan.seconds(120)

    /// Lines such as `Authorization: Bearer …`.
    @Setting("Send the header fields in this file to a web server.", valueName: "file")
    private var uploadHeaders: FilePath?

    @Setting("Allow uploads to another machine without encryption.")
    private var uploadInsecure = false

    /// A PEM file.
    @Setting("Trust the certificate authorities in this file instead of the system's.", valueName: "file")
    private var caCertificate: FilePath?

    @Setting("The URL of the S3 service.", valueName: "url", default: "Amazon", isCheckedEarly: false)
    private var s3Endpoint: WebAddress?

    /// `AWS_REGION` takes precedence over the default.
    @Setting("The bucket's region.", default: "us-east-1")
    private var s3Region: String?

    @Setting("Where the bucket's name is in URLs: path or virtual.")
    private var s3Addressing: S3Store.Addressing?

    /// Same format as `~/.aws/credentials`.
    @Setting("Read the key from this file.", valueName: "file", default: "AWS_ACCESS_KEY_ID …")
    private var s3Credentials: FilePath?

    /// The receiver of archives; `nil` if archives stay here.
    private(set) var receiver: (any Receiver)?

    package init() {}

    package var isOn: Bool { receiver != nil }

    /// The limit of all uploads together, in bytes per second; `nil` for no limit.
    var bytesPerSecond: Int? { uploadLimit?.bytes }

    package var policy: RetryPolicy {
        var policy = RetryPolicy()
        policy.attempts = uploadAttempts
        return policy
    }

    var options: HTTPOptions {
        HTTPOptions(caCertificate: caCertificate, stallSeconds: Int(uploadStall.nanoseconds / 1_000_000_000))
    }

    package mutating func complete(reading reader: ConfigurationReader) throws(ServiceError) {
        try Self.require(bytesPerSecond ?? .max >= 1_000, "upload-limit is too low: write 1KB or more")
        switch target {
        case nil: receiver = nil
        case .directory(let path): receiver = DirectoryReceiver(directory: path)
        case .web(let template):
            try Self.require(
                template.isProtected || uploadInsecure,
                "upload-to \(template) would be readable on the network: use https, "
                    + "or pass --upload-insecure if the network is private")
            receiver = WebReceiver(store: PutStore(template: template, headerFile: uploadHeaders))
        case .bucket(let name, let prefix):
            let store = store(bucket: name, prefix: prefix, environment: reader.environment)
            try Self.require(
                store.endpoint.isProtected || uploadInsecure,
                "s3-endpoint \(store.endpoint) would be readable on the network: use https, "
                    + "or pass --upload-insecure if the network is private")
            receiver = WebReceiver(store: store)
        }
    }

    /// A bucket with these settings.
    /// - Parameter environment: contains the variables that other S3 programs also read.
    private func store(bucket: String, prefix: String, environment: [String: String]) -> S3Store {
        let region = s3Region ?? environment["AWS_REGION"] ?? "us-east-1"
        // A certificate for *.host is valid for one label before the host, so not for a bucket name with dots.
        let usual: S3Store.Addressing = s3Endpoint == nil && !bucket.contains(".") ? .virtual : .path
        let amazon = WebAddress(scheme: "https", authority: "s3.\(region).amazonaws.com", path: "/")
        return S3Store(
            bucket: bucket, prefix: prefix, endpoint: s3Endpoint ?? amazon, region: region,
            addressing: s3Addressing ?? usual,
            credentials: s3Credentials.map { .file($0) }
                ?? .environment(environment.filter { $0.key.hasPrefix("AWS_") }))
    }

    /// Whether a reader's `upload-to` may contain a secret.
    package static func hasSecret(in reader: ConfigurationReader) throws -> Bool {
        try reader.value(\Self.$target)?.hasSecret ?? false
    }

    /// Checks the files named in the settings.
    /// - Throws: `ServiceError` (bad configuration).
    package func check() throws(ServiceError) {
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
            throw ServiceError(
                .badConfiguration,
                "the directory in upload-to or the file in ca-certificate can't be opened: \(error)")
        }
    }

    /// Rejects the directory of the archives as their receiver, whatever its path.
    /// - Throws: `ServiceError` (bad configuration).
    package func check(archives: FilePath) throws(ServiceError) {
        guard let receiver = receiver as? DirectoryReceiver, let place = try? receiver.directory.stat(),
            let own = try? archives.stat()
        else { return }
        try Self.require(
            !place.isSame(as: own),
            "upload-to is the directory of the archives themselves, \(archives): name another directory")
    }

    /// Creates the uploader; `nil` if archives stay here.
    package func uploader() throws(ZeroMQError) -> Uploader? {
        guard let receiver else { return nil }
        return try Uploader(
            to: receiver, count: count, bytesPerSecond: bytesPerSecond, options: options)
    }

    private static func require(_ condition: Bool, _ complaint: @autoclosure () -> String) throws(ServiceError) {
        guard condition else { throw ServiceError(.badConfiguration, complaint()) }
    }
}

extension WebAddress: ConfigurationValue {}

extension S3Store.Addressing: ConfigurationValue {}
