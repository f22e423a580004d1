import ArgumentParser

/// Several values of an option, separated by commas: `--streams 10,1000`.
struct CommaList<Element: ExpressibleByArgument & Sendable>: ExpressibleByArgument, Sendable {
    let elements: [Element]

    init?(argument: String) {
        let words = argument.split(separator: ",").map(String.init)
        elements = words.compactMap { Element(argument: $0) }
        guard !words.isEmpty, elements.count == words.count else { return nil }
    }
}
