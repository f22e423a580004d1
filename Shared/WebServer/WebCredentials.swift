/// What a server shows and proves who it is with, over TLS.
package struct WebCredentials: Sendable {
    /// The certificate in PEM, and those that lead to one that clients know.
    package let certificate: String
    /// Its private key in PEM, without a pass phrase.
    package let key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}
