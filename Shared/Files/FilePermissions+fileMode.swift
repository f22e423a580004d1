package import SystemPackage

extension FilePermissions {
    /// What files are made with: the process's umask, which `--file-mode` sets, takes away what nobody may do.
    package static let byFileMode = FilePermissions(rawValue: 0o666)
}
