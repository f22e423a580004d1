package import SystemPackage

extension FilePermissions {
    /// The permissions of new files before the process's umask, which `--file-mode` sets.
    package static let byFileMode = FilePermissions(rawValue: 0o666)
}
