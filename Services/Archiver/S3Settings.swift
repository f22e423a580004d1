import ArgumentParser
import ServiceKit
import SystemPackage

/// The part of `UploadSettings` that is about storage that speaks S3.
struct S3Settings: Sendable {
    private let endpoint: WebAddress?
    private let region: String
    private let addressing: S3Store.Addressing?
    private let credentials: S3Credentials.Source

    /// Reads the settings.
    /// - Throws: `ServiceError` (bad configuration).
    init(reading reader: ConfigurationReader, environment: [String: String]) throws(ServiceError) {
        endpoint = try reader.value("s3-endpoint", as: WebAddress.self)
        region = try reader.value("s3-region", default: environment["AWS_REGION"] ?? "us-east-1")
        addressing = try reader.value("s3-addressing", as: S3Store.Addressing.self)
        let file = try reader.value("s3-credentials", as: FilePath.self)
        credentials = file.map { .file($0) } ?? .environment(environment.filter { $0.key.hasPrefix("AWS_") })
    }

    /// A bucket with these settings.
    func store(bucket: String, prefix: String) -> S3Store {
        // A certificate for *.host holds for one name before the host, and not for one with dots.
        let usual: S3Store.Addressing = endpoint == nil && !bucket.contains(".") ? .virtual : .path
        let amazon = WebAddress(scheme: "https", authority: "s3.\(region).amazonaws.com", path: "/")
        return S3Store(
            bucket: bucket, prefix: prefix, endpoint: endpoint ?? amazon, region: region,
            addressing: addressing ?? usual, credentials: credentials)
    }
}

extension WebAddress: ConfigurationValue {}

extension S3Store.Addressing: ConfigurationValue, ExpressibleByArgument {}
