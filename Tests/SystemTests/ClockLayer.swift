import SystemPackage
import TestSupport

/// Programs on machines with a wrong date: see Tests/ClockLayer.
enum ClockLayer {
    /// The prefix of a command whose wall clock is to be ahead.
    /// - Parameter seconds: how far ahead; negative for a clock that is behind.
    static func ahead(by seconds: Int) throws -> [String] {
        [
            "env", "LD_PRELOAD=\(try ProductsDirectory.build.appending("libClockLayer.so"))",
            "CLOCK_LAYER_AHEAD=\(seconds)",
        ]
    }
}
