package import Messages

/// A receiver's proof that it has a complete file. Only this makes an upload count.
package struct UploadConfirmation: Codable, Hashable, Sendable {
    /// How the receiver's bytes were verified.
    package enum Proof: String, Codable, Sendable {
        /// The receiver reported the matching SHA-256.
        case sha256
        /// The receiver reported the matching SHA-256 of the parts' SHA-256 (S3, multipart).
        case partsSHA256
        /// The receiver reported the matching MD5, as `Content-MD5` or entity tag.
        case md5
        /// The receiver reported the matching MD5 of the parts' MD5 (S3, multipart).
        case partsMD5
        /// The receiver reported no known hash, so the whole file was read back and hashed here.
        case readBack
    }

    /// The URL of the file, without secrets.
    package let location: String
    /// The file's length at the receiver.
    package let bytes: Int
    /// The SHA-256 of the local file, in hexadecimal digits.
    package let sha256: String
    package let proof: Proof
    /// The hash as the receiver reported it; for a file that was read back, its SHA-256 in hexadecimal digits.
    package let checksum: String
    /// Whether the file already existed, so that nothing was sent.
    package let wasThere: Bool
    /// When the file was confirmed, on this machine's clock.
    package let date: WallTime

    package init(
        location: String, bytes: Int, sha256: String, proof: Proof, checksum: String, wasThere: Bool, date: WallTime
    ) {
        self.location = location
        self.bytes = bytes
        self.sha256 = sha256
        self.proof = proof
        self.checksum = checksum
        self.wasThere = wasThere
        self.date = date
    }
}
