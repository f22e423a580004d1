/// Which release of Holdfast this is. `--version` prints it, health and description carry it.
package enum Version {
    /// The release, as semver.org defines it.
    package static let current = "0.6.0"
}
