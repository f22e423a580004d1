import FoundationEssentials

/// Random numbers for tests that print their seed, and take it back from the environment: `HOLDFAST_TEST_SEED=7`.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    /// A generator for one test, which prints its seed.
    init(for test: String = #function) {
        let given = ProcessInfo.processInfo.environment["HOLDFAST_TEST_SEED"].flatMap(UInt64.init)
        state = given ?? .random(in: 0...UInt64(UInt32.max))
        print("\(test): HOLDFAST_TEST_SEED=\(state)")
    }

    /// SplitMix64 (Guy Steele, Doug Lea, Christine Flood: "Fast splittable pseudorandom number generators", 2014).
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    /// Any finite number, all exponents alike.
    mutating func finiteNumber() -> Double {
        while true {
            let number = Double(bitPattern: next())
            if number.isFinite { return number }
        }
    }
}
