extension FinishedName {
    /// Reads a file's name whose log is not known; `nil` if it is not the name of a finished file.
    ///
    /// A log whose own name ends in a stamp is never made, so what stands before the stamp is the log's name. A name
    /// that can be read in two ways is read in none.
    package init?(fileName: some Sequence<UInt8>) {
        var reader = FinishedNameReader()
        let name = Array(fileName).withUnsafeBytes { reader.read($0) }
        guard let name else { return nil }
        self = name
    }

    /// The stamp as a number, in which stamps stand in the same order.
    package var stampNumber: Int64 { Int64(stamp) ?? 0 }
}
