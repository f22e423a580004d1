package import Recording

extension LogFormat {
    /// The format in the catalog. These stay as they are.
    package var number: Int {
        switch self {
        case .json: 0
        case .csv: 1
        case .tsv: 2
        case .added: formatter?.number ?? -1
        }
    }

    /// The format of a number in the catalog.
    package init?(number: Int) {
        guard let format = Self.known.first(where: { $0.number == number }) else { return nil }
        self = format
    }
}
