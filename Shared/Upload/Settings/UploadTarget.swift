import ArgumentParser
import ServiceKit
import SystemPackage

/// A destination for archives, as a user enters it.
enum UploadTarget: Hashable, Sendable {
    /// `file:///mnt/share/study`: a directory, which must exist.
    case directory(FilePath)
    /// `https://host/archives/`, `https://host/put/{name}?signature=…`: a server that accepts PUT.
    case web(WebTemplate)
    /// `s3://bucket/prefix`: S3-compatible storage; the prefix may be empty.
    case bucket(name: String, prefix: String)

    /// Whether the target contains a secret, which must not be on a command line that every user can read.
    var hasSecret: Bool { if case .web(let template) = self { template.hasSecret } else { false } }
}

extension UploadTarget: ConfigurationValue, ExpressibleByArgument {
    init(typed text: String) throws(InvalidValue) {
        let scheme = text.prefix { $0 != ":" }.lowercased()
        let rest = text.dropFirst(scheme.count)
        switch scheme {
        case "file" where rest.hasPrefix(":///"):
            guard let path = PercentEncoding.decoded(rest.dropFirst(3)) else {
                throw InvalidValue("'\(text)' has a % that does not begin an escape such as %20")
            }
            self = .directory(FilePath(path))
        case "http", "https": self = .web(try WebTemplate(typed: text))
        case "s3" where rest.hasPrefix("://"):
            let parts = rest.dropFirst(3).split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts.first ?? ""
            let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_")
            guard !name.isEmpty, name.allSatisfy(allowed.contains) else {
                throw InvalidValue("'\(text)' names no bucket: write s3://bucket/prefix")
            }
            let prefix = parts.count > 1 ? parts[1].split(separator: "/").joined(separator: "/") : ""
            self = .bucket(name: String(name), prefix: prefix)
        default:
            throw InvalidValue(
                "'\(text.prefix { $0 != "?" })' is not a place for archives: write file:///directory, "
                    + "https://host/path/ or s3://bucket/prefix")
        }
    }

    /// The target without its secrets. Without secrets, parsing this text gives an equal target.
    var description: String {
        switch self {
        case .directory(let path): "file://\(PercentEncoding.path(path.string))"
        case .web(let template): template.description
        case .bucket(let name, let prefix): prefix.isEmpty ? "s3://\(name)" : "s3://\(name)/\(prefix)"
        }
    }
}
