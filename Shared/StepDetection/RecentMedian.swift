/// The median of the last few values, without a list that grows.
struct RecentMedian: Hashable, Sendable {
    /// At most 16.
    let capacity: Int
    private(set) var count = 0
    /// The median; 0 while there is no value.
    private(set) var value = 0.0
    private var values = SIMD16<Double>()

    init(capacity: Int) {
        precondition(capacity > 0 && capacity <= 16)
        self.capacity = capacity
    }

    mutating func removeAll() {
        count = 0
    }

    mutating func append(_ new: Double) {
        if count == capacity {
            for index in 1..<count { values[index - 1] = values[index] }
        } else {
            count += 1
        }
        values[count - 1] = new
        value = median()
    }

    private func median() -> Double {
        var sorted = values
        for index in 1..<max(count, 1) {
            let moved = sorted[index]
            var place = index
            while place > 0, sorted[place - 1] > moved {
                sorted[place] = sorted[place - 1]
                place -= 1
            }
            sorted[place] = moved
        }
        let middle = count / 2
        return count % 2 == 1 ? sorted[middle] : 0.5 * (sorted[middle - 1] + sorted[middle])
    }

    mutating func read(from state: inout DetectorStateReader) {
        removeAll()
        for _ in 0..<min(capacity, Int(exactly: state.next() as Double) ?? 0) { append(state.next()) }
    }

    func write(to state: inout DetectorStateWriter) {
        state.append(Double(count))
        for index in 0..<count { state.append(values[index]) }
    }
}
