import CConsolePages

/// The page's files as they were when the program was built.
enum EmbeddedPages {
    static var files: [(name: String, body: [UInt8])] {
        (0...).lazy.map { holdfast_page($0)?.pointee }.prefix { $0 != nil }.compactMap { page in
            page.map { (String(cString: $0.name), Array(UnsafeBufferPointer(start: $0.bytes, count: $0.count))) }
        }
    }
}
