import CCurl
import Glibc
import ServiceKit
import SystemPackage

/// Makes HTTP requests with libcurl, one after another on the calling thread, and keeps connections open between them. Only this
/// class calls libcurl.
///
/// HTTP/1.1 and TLS 1.2 or later; certificates are always checked. Redirects are not followed, because signatures and secrets in
/// a request are meant for one server. Proxies come from the environment (`https_proxy`, `no_proxy`).
final class HTTPConnection {
    private let handle: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    private let options: HTTPOptions

    /// Swift initializes this once, on one thread. libcurl-thread(3) requires that before any handle is created.
    private static let isInitialized: Bool = {
        // A server that closes the connection must cause an error and not end the program. libcurl leaves this to programs with
        // threads, see CURLOPT_NOSIGNAL(3).
        signal(SIGPIPE, SIG_IGN)
        return curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
    }()

    /// - Throws: `HTTPFailure` if libcurl cannot be used.
    init(_ options: HTTPOptions) throws(HTTPFailure) {
        guard Self.isInitialized, let handle = curl_easy_init() else {
            throw HTTPFailure(code: CURLE_FAILED_INIT.rawValue, message: "libcurl could not be started")
        }
        self.handle = handle
        self.options = options
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_easy_cleanup(handle)
        errorText.deallocate()
    }

    /// Makes a request and waits for the response.
    /// - Throws: `HTTPFailure` without a response: no connection, no trust, a stalled transfer, or cancellation.
    func send(_ request: HTTPRequest, _ throttle: UploadThrottle) throws(HTTPFailure) -> HTTPResponse {
        let transfer = HTTPTransfer(request, throttle: throttle)
        // Resets all options, and keeps the connections.
        curl_easy_reset(handle)
        errorText.pointee = 0
        try setGeneralOptions()
        try set(CURLOPT_URL, request.address.secretText)
        try setMethod(of: request)
        var list: UnsafeMutablePointer<curl_slist>?
        defer { curl_slist_free_all(list) }
        for header in request.headers {
            guard let longer = curl_slist_append(list, "\(header.name): \(header.value)") else {
                throw HTTPFailure(code: CURLE_OUT_OF_MEMORY.rawValue, message: "out of memory")
            }
            list = longer
        }
        try check(holdfast_curl_set_list(handle, CURLOPT_HTTPHEADER, list))
        try setCallbacks(to: transfer)
        // The transfer is the callbacks' context, and nothing else keeps it alive.
        let code = withExtendedLifetime(transfer) { curl_easy_perform(handle) }
        guard code == CURLE_OK || transfer.hasTooMuch else {
            throw HTTPFailure(code: code.rawValue, message: message(of: code), cause: transfer.failure)
        }
        return transfer.response(
            retryAfterSeconds: Int(clamping: holdfast_curl_offset(handle, CURLINFO_RETRY_AFTER)))
    }

    private func setGeneralOptions() throws(HTTPFailure) {
        try check(holdfast_curl_set_error_buffer(handle, errorText))
        try set(CURLOPT_USERAGENT, "holdfast-archiver/\(Version.current)")
        // Signals would reach other threads: libcurl-thread(3).
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_PROTOCOLS, Int(CURLPROTO_HTTP | CURLPROTO_HTTPS))
        try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        try set(CURLOPT_FOLLOWLOCATION, 0)
        // A key may contain dot segments, which libcurl would remove from a path.
        try set(CURLOPT_PATH_AS_IS, 1)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
        try set(CURLOPT_CONNECTTIMEOUT, options.connectSeconds)
        try set(CURLOPT_LOW_SPEED_LIMIT, 1)
        try set(CURLOPT_LOW_SPEED_TIME, options.stallSeconds)
        try set(CURLOPT_UPLOAD_BUFFERSIZE, 256 << 10)
        try set(CURLOPT_BUFFERSIZE, 256 << 10)
        if let authorities = options.caCertificate {
            try set(CURLOPT_CAINFO, authorities.string)
            try set(CURLOPT_CAPATH, nil)
        }
    }

    private func setMethod(of request: HTTPRequest) throws(HTTPFailure) {
        switch (request.method, request.body) {
        case ("HEAD", _): try set(CURLOPT_NOBODY, 1)
        case ("GET", _): try set(CURLOPT_HTTPGET, 1)
        case ("DELETE", _): try set(CURLOPT_CUSTOMREQUEST, "DELETE")
        case (let method, let body):
            try set(CURLOPT_UPLOAD, 1)
            try set(CURLOPT_CUSTOMREQUEST, method)
            try check(holdfast_curl_set_offset(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(body.count)))
        }
    }

    private func setCallbacks(to transfer: HTTPTransfer) throws(HTTPFailure) {
        let context = Unmanaged.passUnretained(transfer).toOpaque()
        try check(
            holdfast_curl_set_reader(
                handle,
                { buffer, size, count, context in
                    let space = UnsafeMutableRawBufferPointer(start: buffer, count: size * count)
                    return HTTPConnection.transfer(context)?.fill(space) ?? Int(CURL_READFUNC_ABORT)
                }, context))
        try check(
            holdfast_curl_set_seeker(
                handle,
                { context, offset, origin in
                    let isDone = origin == 0 && HTTPConnection.transfer(context)?.seek(to: Int(offset)) == true
                    return isDone ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
                }, context))
        try check(
            holdfast_curl_set_writer(
                handle,
                { buffer, size, count, context in
                    let piece = UnsafeRawBufferPointer(start: buffer, count: size * count)
                    // Any value but the whole count ends the transfer.
                    return HTTPConnection.transfer(context)?.take(piece) == true ? piece.count : piece.count ^ 1
                }, context))
        try check(
            holdfast_curl_set_header_writer(
                handle,
                { buffer, size, count, context in
                    HTTPConnection.transfer(context)?.take(
                        headerLine: UnsafeRawBufferPointer(start: buffer, count: size * count))
                    return size * count
                }, context))
        try check(
            holdfast_curl_set_progress(
                handle, { context, _, _, _, _ in HTTPConnection.transfer(context)?.isCancelled == false ? 0 : 1 },
                context))
    }

    /// The transfer of a callback. It is alive, since `send` waits until the callbacks have ended.
    private static func transfer(_ context: UnsafeMutableRawPointer?) -> HTTPTransfer? {
        context.map { Unmanaged<HTTPTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    private func set(_ option: CURLoption, _ value: Int) throws(HTTPFailure) {
        try check(holdfast_curl_set_long(handle, option, value))
    }

    private func set(_ option: CURLoption, _ text: String?) throws(HTTPFailure) {
        try check(holdfast_curl_set_text(handle, option, text))
    }

    private func check(_ code: CURLcode) throws(HTTPFailure) {
        guard code == CURLE_OK else { throw HTTPFailure(code: code.rawValue, message: message(of: code)) }
    }

    private func message(of code: CURLcode) -> String {
        let text = String(cString: errorText)
        return text.isEmpty ? String(cString: curl_easy_strerror(code)) : text
    }
}
