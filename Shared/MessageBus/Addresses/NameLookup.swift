import Synchronization
import ZeroMQ

/// Looks up the addresses of hosts without blocking the caller: each name on a thread of its own, which ends with the answer. A
/// resolver that hangs blocks only that thread; the name is not looked up again until it returns.
package final class NameLookup: Sendable {
    /// The result of a look-up, and when it arrived, on `MonotonicClock`.
    package struct Answer: Hashable, Sendable {
        package let addresses: HostAddresses
        package let time: Int64
    }

    private struct Entry {
        var answer: Answer?
        /// The last answer that had addresses.
        var found: Answer?
        var isUnderWay = false
    }

    /// The maximum number of concurrent threads; beyond it `begin` does nothing.
    private static let maximumUnderWay = 64
    /// The maximum number of remembered names. Publishers announce them, and a hostile one could announce new ones without end.
    private static let maximumNames = 1_024

    /// The instance for this process, with the system's resolver.
    package static let system = NameLookup(resolver: HostAddresses.lookUp)

    private struct Waiter: Sendable {
        let name: String
        let answered: AwaitedEnd
    }

    private struct Waiters {
        var last = 0
        var byNumber: [Int: Waiter] = [:]
    }

    private let entries = Mutex<[String: Entry]>([:])
    private let waiters = Mutex(Waiters())
    private let resolver: @Sendable (String) -> HostAddresses

    /// Creates an instance with a resolver, which may block.
    package init(resolver: @escaping @Sendable (String) -> HostAddresses) {
        self.resolver = resolver
    }

    /// Starts looking up a name, unless its look-up or the maximum number of look-ups is running.
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
        for waiter in waiters.withLock({ Array($0.byNumber.values) }) where waiter.name == name {
            waiter.answered.come()
        }
    }

    /// Waits for a name's next answer.
    /// - Parameters:
    ///   - known: the answer that is known; any other one ends the wait at once.
    ///   - deadline: when the wait ends at the latest, on `MonotonicClock`.
    /// - Throws: `CancellationError`.
    package func next(after known: Answer?, of name: String, until deadline: Int64) async throws {
        let answered = AwaitedEnd()
        let number = waiters.withLock { waiters in
            waiters.last += 1
            waiters.byNumber[waiters.last] = Waiter(name: name, answered: answered)
            return waiters.last
        }
        defer { waiters.withLock { _ = $0.byNumber.removeValue(forKey: number) } }
        // The answer may have arrived before this waiter was on the list.
        guard answer(of: name) == known else { return }
        await answered.wait(atMost: .nanoseconds(deadline - MonotonicClock.now))
        try Task.checkCancellation()
    }

    package func answer(of name: String) -> Answer? { entries.withLock { $0[name]?.answer } }

    /// The last answer that had addresses.
    package func lastFound(of name: String) -> Answer? { entries.withLock { $0[name]?.found } }
}
