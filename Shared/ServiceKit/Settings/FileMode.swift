import Glibc

/// Who may read and write the files that a program makes: `0640`. Directories are as accessible as files are readable: 0750.
package struct FileMode: Hashable, Sendable, CustomStringConvertible {
    package let bits: UInt32

    /// The owner may write, the group may read.
    package static let standard = FileMode(bits: 0o640)

    private init(bits: UInt32) { self.bits = bits }

    /// The mode of directories.
    package var directoryBits: UInt32 { bits | (bits & 0o444) >> 2 }

    private var mask: mode_t { mode_t(~directoryBits & 0o777) }

    /// Applies to every file and directory that the process makes from now on, those of SQLite included.
    package func apply() { umask(mask) }

    /// Forbids what `standard` forbids, and what the process's umask forbids already.
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
                "'\(text)' is no mode for files: write octal digits, such as 0640 or 0600, that let the owner read and write "
                    + "and nobody execute")
        }
        self.init(bits: bits)
    }
}
