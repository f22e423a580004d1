import Messages
import Recording

/// Sessions that are recorded one after another under one name, each with its date: `walk-20261121T080826Z-1e27`.
package struct SessionSeries {
    private let name: String

    package init(name: String) { self.name = name }

    package var next: String {
        "\(name)-\(SessionIdentifier(startedAt: .now, random: .random(in: .min ... .max)))"
    }

    /// Whether a session is in this series, and not in one with a longer name.
    package func contains(_ session: String) -> Bool {
        session.hasPrefix("\(name)-") && session.utf8.count == next.utf8.count
    }
}
