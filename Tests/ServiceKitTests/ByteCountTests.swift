import ServiceKit
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ByteCountTests {
    @Test(arguments: [
        ("0", 0), ("1048576", 1_048_576), ("12B", 12), ("64KiB", 65_536), ("100MB", 100_000_000),
        ("100 MB", 100_000_000), ("1GB", 1_000_000_000), ("1GiB", 1_073_741_824), ("2tb", 2_000_000_000_000),
        ("1.5GB", 1_500_000_000), ("0.5KiB", 512), ("1.10kb", 1100), ("9223372036854775807", Int.max),
    ])
    func sizesAreReadExactly(text: String, bytes: Int) throws {
        #expect(try ByteCount(typed: text).bytes == bytes)
    }

    @Test(arguments: [
        "", "MB", "-1", "+1", "1e6", "1,5GB", "1.GB", ".5GB", "10 parsecs", "100Mb/s", "0x10", "1.2.3", "0.1B",
        "0.3KiB",
        "9223372036854775808", "9223372036854775807KB", "10000000000TB", "1٣",
    ])
    func whatIsNoSizeIsExplained(text: String) throws {
        let error = #expect(throws: InvalidValue.self) { try ByteCount(typed: text) }
        #expect(
            try #require(error).description
                == "'\(text)' is not a size: write 64KiB, 100MB, 1.5GB or a number of bytes")
    }

    @Test(arguments: [
        (0, "0B"), (999, "999B"), (1000, "1KB"), (1024, "1KiB"), (65_536, "64KiB"), (100_000_000, "100MB"),
        (1_500_000_000, "1500MB"), (1 << 30, "1GiB"), (Int.max, "9223372036854775807B"),
    ])
    func descriptionsAreShortAndReadBack(bytes: Int, text: String) throws {
        #expect(ByteCount(bytes: bytes).description == text)
        #expect(try ByteCount(typed: text).bytes == bytes)
    }
}
