import Glibc

/// The mode of files that a program creates: `0640`. Directories also have execute bits where files are readable: 0750.
package struct FileMode: Hashable, Sendable, CustomStringConvertible {
    package let bits: UInt32

    /// Read and write for the owner, read for the group.
    package static let standard = FileMode(bits: 0o640)

    private init(bits: UInt32) { self.bits = bits }

    package var directoryBits: UInt32 { bits | (bits & 0o444) >> 2 }

    private var mask: mode_t { mode_t(~directoryBits & 0o777) }

    /// Applies to every file and directory that the process creates from now on, including SQLite's.
    package func apply() { umask(mask) }

    /// Applies the configured mode, or else the standard.
    package static func apply(_ configured: FileMode?) {
        if let configured { configured.apply() } else { applyStandard() }
    }

    /// Removes the permissions that `standard` lacks, in addition to those that the process's umask already removes.
    package static func applyStandard() {
        let inherited = umask(standard.mask)
        umask(inherited | standard.mask)
    }

    /// Four octal digits.
    package var description: String { "0" + String(bits, radix: 8) }
}

extension FileMode: ConfigurationValue {
    package init(typed text: String) throws(InvalidValue) {
        guard let bits = UInt32(text, radix: 8), bits & ~0o666 == 0, bits & 0o600 == 0o600 else {
            throw InvalidValue(
                "'\(text)' is not a mode for files: write octal digits, such as 0640 or 0600, that let the owner read and write "
                    + "and nobody execute")
        }
        self.init(bits: bits)
    }
}
