import SystemPackage
import TestSupport

/// Programs whose date is wrong: see Tests/ClockLayer.
enum ClockLayer {
    /// What starts a program whose wall clock is ahead: put it before the program and its arguments.
    /// - Parameter seconds: how far; negative for one that is behind.
    static func ahead(by seconds: Int) throws -> [String] {
        [
            "env", "LD_PRELOAD=\(try ProductsDirectory.build.appending("libClockLayer.so"))",
            "CLOCK_LAYER_AHEAD=\(seconds)",
        ]
    }
}
