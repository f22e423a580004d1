import Synchronization

/// The numbers of a context's sockets whose guards refuse new connections.
final class FullSockets: Sendable {
    private let numbers = Mutex<Set<Int>>([])

    func contains(_ number: Int) -> Bool { numbers.withLock { $0.contains(number) } }

    func set(_ isFull: Bool, _ number: Int) {
        numbers.withLock { numbers in
            if isFull { numbers.insert(number) } else { numbers.remove(number) }
        }
    }
}
