import COpenSSL

/// What OpenSSL says went wrong last on this thread.
enum OpenSSLFailure {
    /// The library's own words; its list of errors is empty afterwards.
    static func reason() -> String {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0, let text = ERR_reason_error_string(code) else { return "OpenSSL does not say why" }
        return String(cString: text)
    }
}
