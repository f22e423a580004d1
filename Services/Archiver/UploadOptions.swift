import ArgumentParser
import ServiceKit
import SystemPackage

/// The options about uploads, see `UploadSettings`. What is secret has none: it belongs into files and the environment.
struct UploadOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Bring archives here: file:///directory, https://host/path/ or s3://bucket/prefix (default: nowhere).",
            valueName: "place"))
    var uploadTo: UploadTarget?

    @Option(help: "Upload this many archives at a time (default: 1).")
    var uploads: Int?

    @Option(help: ArgumentHelp("Send no more than this in a second, all together.", valueName: "size"))
    var uploadLimit: ByteCount?

    @Option(help: "Try so often in a row (default: 8).")
    var uploadAttempts: Int?

    @Option(help: "End a try in which nothing moved for so long (default: 2m).")
    var uploadStall: TimeSpan?

    @Option(help: ArgumentHelp("Send the fields in this file to a web server.", valueName: "file"))
    var uploadHeaders: String?

    @Flag(help: "Speak to a receiver on another machine without encryption.")
    var uploadInsecure = false

    @Option(help: ArgumentHelp("Trust the authorities in this file, in place of the system's.", valueName: "file"))
    var caCertificate: String?

    @Option(help: ArgumentHelp("Find the bucket here (default: Amazon).", valueName: "url"))
    var s3Endpoint: String?

    @Option(help: "The bucket's region (default: us-east-1).")
    var s3Region: String?

    @Option(help: "How the bucket is named in URLs: path or virtual.")
    var s3Addressing: S3Store.Addressing?

    @Option(help: ArgumentHelp("Read the key from this file (default: AWS_ACCESS_KEY_ID …).", valueName: "file"))
    var s3Credentials: String?

    func validate() throws {
        if uploadTo?.hasSecret == true {
            throw ValidationError(
                "--upload-to has a query, which every user of this machine could read: put it into the configuration file "
                    + "or HOLDFAST_ARCHIVER_UPLOAD_TO")
        }
    }

    /// Puts what was given beside the other flags.
    func addFlags(to flags: inout FlagValues) {
        flags.set("upload-to", uploadTo)
        flags.set("uploads", uploads)
        flags.set("upload-limit", uploadLimit)
        flags.set("upload-attempts", uploadAttempts)
        flags.set("upload-stall", uploadStall)
        flags.set("upload-headers", uploadHeaders)
        flags.set("upload-insecure", if: uploadInsecure)
        flags.set("ca-certificate", caCertificate)
        flags.set("s3-endpoint", s3Endpoint)
        flags.set("s3-region", s3Region)
        flags.set("s3-addressing", s3Addressing)
        flags.set("s3-credentials", s3Credentials)
    }
}
