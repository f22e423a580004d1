import FoundationEssentials
import TestSupport

/// Random numbers for tests that print their seed, and accept it in the environment: `HOLDFAST_TEST_SEED=7`.
struct SeededGenerator: RandomNumberGenerator {
    private var numbers: SplitMix

    /// A generator for one test, which prints its seed.
    init(for test: String = #function) {
        let given = ProcessInfo.processInfo.environment["HOLDFAST_TEST_SEED"].flatMap(UInt64.init)
        let seed = given ?? .random(in: 0...UInt64(UInt32.max))
        print("\(test): HOLDFAST_TEST_SEED=\(seed)")
        numbers = SplitMix(seed: seed)
    }

    mutating func next() -> UInt64 { numbers.next() }

    /// Any finite number, with all exponents equally likely.
    mutating func finiteNumber() -> Double {
        while true {
            let number = Double(bitPattern: next())
            if number.isFinite { return number }
        }
    }
}
