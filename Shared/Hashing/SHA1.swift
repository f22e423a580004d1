import COpenSSL

/// SHA-1, for the WebSocket handshake. Not secure against forgery.
package enum SHA1 {
    package static let byteCount = 20

    package static func hash(data bytes: some Sequence<UInt8>) -> [UInt8] {
        let all = Array(bytes)
        var digest = [UInt8](repeating: 0, count: byteCount)
        COpenSSL.SHA1(all, all.count, &digest)
        return digest
    }
}
