package import SystemPackage

extension Stat {
    /// Whether both describe the same file or directory, which may have several paths.
    package func isSame(as other: Stat) -> Bool { inode == other.inode && deviceID == other.deviceID }
}
