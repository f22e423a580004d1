import CCommit

/// The release of Holdfast, which health and description report.
package enum Version {
    /// The release, as semver.org defines it.
    package static let current = "0.6.0"

    /// The output of `--version`: the release, and the commit that it was built from, if the build knew it.
    package static let described = holdfast_commit().map { "\(current) (\(String(cString: $0)))" } ?? current
}
