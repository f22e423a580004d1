package import Messages

/// What a receiver said about a file that it has, all of it: what makes an upload count.
package struct UploadConfirmation: Codable, Hashable, Sendable {
    /// How the receiver's bytes were seen to be ours.
    package enum Proof: String, Codable, Sendable {
        /// The receiver gave the SHA-256 of what it has.
        case sha256
        /// It gave the SHA-256 of the parts' SHA-256, which are ours (S3, multipart).
        case partsSHA256
        /// It gave the MD5 of what it has, as `Content-MD5` or entity tag.
        case md5
        /// It gave the MD5 of the parts' MD5, which are ours (S3, multipart).
        case partsMD5
        /// It gave no hash that we know, so everything was read back and hashed here.
        case readBack
    }

    /// Where the file is: a URL without what is secret in it.
    package let location: String
    /// Its length there.
    package let bytes: Int
    /// The SHA-256 of our bytes, which the receiver's are, in hexadecimal digits.
    package let sha256: String
    /// How that is known.
    package let proof: Proof
    /// The hash as the receiver said it; the SHA-256 in hexadecimal digits of what was read back.
    package let checksum: String
    /// Whether it was there already, so that nothing was sent.
    package let wasThere: Bool
    /// When it was confirmed, on this machine's clock.
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
