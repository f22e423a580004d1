/// The last values of four signals, contiguous in memory: each is written twice, half the storage apart.
struct History: Hashable, Sendable {
    let capacity: Int
    private(set) var count = 0
    private var next = 0
    private var storage: [SIMD4<Float>]

    init(capacity: Int) {
        self.capacity = capacity
        storage = Array(repeating: SIMD4(), count: 2 * capacity)
    }

    mutating func removeAll() {
        count = 0
    }

    @inline(__always)
    mutating func append(_ value: SIMD4<Float>) {
        storage[next] = value
        storage[next + capacity] = value
        next = next + 1 == capacity ? 0 : next + 1
        count = min(count + 1, capacity)
    }

    /// The value `age` places before the last one; `age` is below `capacity`.
    subscript(age age: Int) -> SIMD4<Float> {
        storage[next + capacity - 1 - age]
    }

    /// Passes the last `count` values, oldest first.
    @inline(__always)
    func withLast<Result>(_ count: Int, _ body: (UnsafeBufferPointer<SIMD4<Float>>) -> Result) -> Result {
        storage.withUnsafeBufferPointer {
            body(UnsafeBufferPointer(rebasing: $0[(next + capacity - count)..<(next + capacity)]))
        }
    }

    mutating func read(from state: inout DetectorStateReader) {
        removeAll()
        for _ in 0..<min(capacity, Int(exactly: state.next() as Double) ?? 0) { append(state.next()) }
    }

    func write(to state: inout DetectorStateWriter) {
        state.append(Double(count))
        for age in (0..<count).reversed() { state.append(self[age: age]) }
    }
}
