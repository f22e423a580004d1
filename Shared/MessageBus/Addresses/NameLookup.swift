import Synchronization
import ZeroMQ

/// Looks up the addresses of hosts, and keeps nobody waiting: each name on a thread of its own, which ends with the answer.
/// A resolver that hangs costs that thread, and a name is not looked up again before.
package final class NameLookup: Sendable {
    /// What was found, and when that was, on `MonotonicClock`.
    package struct Answer: Hashable, Sendable {
        package let addresses: HostAddresses
        package let time: Int64
    }

    private struct Entry {
        var answer: Answer?
        /// What was found last where something was.
        var found: Answer?
        var isUnderWay = false
    }

    /// Threads at the same time; names beyond are looked up when one of these is done.
    private static let maximumUnderWay = 64
    /// Names that are remembered. Publishers say them, and a stranger could say ever new ones.
    private static let maximumNames = 1_024

    /// The one of this process, with the system's resolver.
    package static let system = NameLookup(resolver: HostAddresses.lookUp)

    private let entries = Mutex<[String: Entry]>([:])
    private let resolver: @Sendable (String) -> HostAddresses

    /// Asks a resolver, which may block.
    package init(resolver: @escaping @Sendable (String) -> HostAddresses) {
        self.resolver = resolver
    }

    /// Has a name looked up, unless that is under way.
    package func begin(_ name: String) {
        let isNew = entries.withLock { entries in
            guard entries[name]?.isUnderWay != true, entries.values.count(where: \.isUnderWay) < Self.maximumUnderWay
            else { return false }
            if entries.count >= Self.maximumNames { entries = entries.filter(\.value.isUnderWay) }
            entries[name, default: Entry()].isUnderWay = true
            return true
        }
        guard isNew else { return }
        do {
            try startThread(name: "look-up") { [self] in end(name, resolver(name)) }
        } catch {
            end(name, .notFound("\(error)"))
        }
    }

    private func end(_ name: String, _ addresses: HostAddresses) {
        let answer = Answer(addresses: addresses, time: MonotonicClock.now)
        entries.withLock { entries in
            var entry = Entry(answer: answer, found: entries[name]?.found)
            if case .found = addresses { entry.found = answer }
            entries[name] = entry
        }
    }

    /// The last answer.
    package func answer(of name: String) -> Answer? { entries.withLock { $0[name]?.answer } }

    /// The last answer that had addresses.
    package func lastFound(of name: String) -> Answer? { entries.withLock { $0[name]?.found } }
}
