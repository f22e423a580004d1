package import Recording

extension LogFormat {
    /// The number that stands for the format in the catalog. These numbers never change.
    package var number: Int {
        switch self {
        case .json: 0
        case .csv: 1
        case .tsv: 2
        case .added: formatter?.number ?? -1
        }
    }

    /// The format with a number from the catalog; nil if the number is unknown.
    package init?(number: Int) {
        guard let format = Self.known.first(where: { $0.number == number }) else { return nil }
        self = format
    }
}
