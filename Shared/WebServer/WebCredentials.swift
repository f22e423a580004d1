/// A server's certificate and key for TLS.
package struct WebCredentials: Sendable {
    /// The certificate in PEM, followed by the chain to one that clients trust.
    package let certificate: String
    /// The private key in PEM, without a pass phrase.
    package let key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}
