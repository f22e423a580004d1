import Synchronization

final class Shared: Sendable {
    private let storage: Atomic<Int>

    init(_ value: Int) {
        storage = Atomic(value)
    }

    var value: Int {
        get { storage.load(ordering: .relaxed) }
        set { storage.store(newValue, ordering: .relaxed) }
    }
}
