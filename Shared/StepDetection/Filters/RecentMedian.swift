/// The median of the last few values, without allocations.
struct RecentMedian: Sendable {
    /// At most 9.
    let capacity: Int
    private(set) var count = 0
    /// The median; 0 while there is no value.
    private(set) var value = 0.0
    /// In the order they came, and by size.
    private var values = [9 of Double](repeating: 0)
    private var sorted = [9 of Double](repeating: 0)

    init(capacity: Int) {
        precondition(capacity > 0 && capacity <= 9)
        self.capacity = capacity
    }

    mutating func removeAll() {
        count = 0
    }

    mutating func append(_ new: Double) {
        if count == capacity {
            remove(values[0])
            for index in 0..<count { values[index] = values[index + 1] }
        }
        values[count] = new
        var place = count
        while place > 0, sorted[place - 1] > new {
            sorted[place] = sorted[place - 1]
            place -= 1
        }
        sorted[place] = new
        count += 1
        let middle = count / 2
        value = count % 2 == 1 ? sorted[middle] : 0.5 * (sorted[middle - 1] + sorted[middle])
    }

    /// The least of the last `number` values; 0 while there are fewer.
    func least(ofLast number: Int) -> Double {
        guard count >= number else { return 0 }
        var least = values[count - 1]
        for index in (count - number)..<count { least = min(least, values[index]) }
        return least
    }

    private mutating func remove(_ old: Double) {
        count -= 1
        var place = 0
        while place < count, sorted[place] != old { place += 1 }
        while place < count {
            sorted[place] = sorted[place + 1]
            place += 1
        }
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
