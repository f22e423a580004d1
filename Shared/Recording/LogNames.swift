/// The names of a session's logs, of which no two are the same where upper and lower case are: a session may have thousands.
package struct LogNames: Sendable {
    private var texts: Set<String> = []

    package init(_ names: some Sequence<LogName> = EmptyCollection()) {
        for name in names { insert(name) }
    }

    package mutating func insert(_ name: LogName) { texts.insert(name.text.lowercased()) }

    func contains(_ text: String) -> Bool { texts.contains(text.lowercased()) }
}
