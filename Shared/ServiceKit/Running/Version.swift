import CCommit

/// Which release of Holdfast this is. Health and description carry it.
package enum Version {
    /// The release, as semver.org defines it.
    package static let current = "0.6.0"

    /// What `--version` prints: the release, and the commit that it was built of where the build was told of it.
    package static let described = holdfast_commit().map { "\(current) (\(String(cString: $0)))" } ?? current
}
