import COpenSSL

/// The last OpenSSL error on this thread.
enum OpenSSLFailure {
    /// The library's description of the error. Clears the thread's error queue.
    static func reason() -> String {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0, let text = ERR_reason_error_string(code) else { return "OpenSSL does not say why" }
        return String(cString: text)
    }
}
