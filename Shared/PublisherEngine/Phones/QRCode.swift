import CQREncode

/// A link as a QR code, for a phone's camera. Made by libqrencode.
package struct QRCode: Hashable, Sendable {
    /// The width of the light border that readers need, in modules.
    private static let margin = 4

    /// The modules row by row; true is dark.
    package let rows: [[Bool]]

    /// - Returns: nil if the text is empty or too long for a code.
    package init?(_ text: String) {
        guard let code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_M) else { return nil }
        defer { QRcode_free(code) }
        let width = Int(code.pointee.width)
        guard width > 0, let modules = code.pointee.data else { return nil }
        // The lowest bit of a module is its color.
        rows = (0..<width).map { y in (0..<width).map { x in modules[y * width + x] & 1 == 1 } }
    }

    private func isDark(_ x: Int, _ y: Int) -> Bool {
        rows.indices.contains(x) && rows.indices.contains(y) && rows[y][x]
    }

    /// For a terminal with any colors: two rows of modules a line, black on white.
    package var terminalText: String {
        let places = -Self.margin..<rows.count + Self.margin
        return stride(from: places.lowerBound, to: places.upperBound, by: 2).map { y in
            let line = places.map { x in
                switch (isDark(x, y), isDark(x, y + 1)) {
                case (true, true): "█"
                case (true, false): "▀"
                case (false, true): "▄"
                case (false, false): " "
                }
            }
            return "\u{1B}[30;107m\(line.joined())\u{1B}[0m\n"
        }.joined()
    }

    /// For a web page.
    package var svg: String {
        let size = rows.count + 2 * Self.margin
        var path = ""
        for (y, row) in rows.enumerated() {
            for (x, isDark) in row.enumerated() where isDark {
                path += "M\(x + Self.margin) \(y + Self.margin)h1v1h-1z"
            }
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(size) \(size)" shape-rendering="crispEdges">\
            <rect width="\(size)" height="\(size)" fill="#fff"/><path d="\(path)" fill="#000"/></svg>
            """
    }
}
