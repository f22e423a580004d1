import Messages
import Recording
import Testing

@Suite(.timeLimit(.minutes(5)))
struct FinishedNameTests {
    private let log = LogName("phone_gyro")

    private func name(_ stamp: String, _ count: Int = 0) -> FinishedName {
        FinishedName(log: log, stamp: stamp, count: count, format: .json)
    }

    @Test func namesHaveStampAndNumber() {
        #expect(name("20261120235301").description == "phone_gyro-20261120235301.json")
        #expect(name("20261120235301", 1).description == "phone_gyro-20261120235301-01.json")
        #expect(name("20261120235301", 99).next.description == "phone_gyro-20261120235301-100.json")
    }

    @Test func theStampIsInUTC() throws {
        #expect(FinishedName.stamp(of: try WallTime(iso8601: "2026-11-21T00:25:01.999-02:30")) == "20261121025501")
    }

    @Test func namesAreReadBack() throws {
        for count in [0, 1, 9, 10, 99, 100, 1234] {
            let name = name("20261120235301", count)
            #expect(FinishedName(name.description, of: log) == name)
        }
    }

    @Test(arguments: [
        "phone_gyro.json", "phone_gyro-2026112023530.json", "phone_gyro-20261120235301-1.json",
        "phone_gyro-20261120235301-00.json", "phone_gyro-20261120235301-001.json", "phone_gyro-20261120235301.txt",
        "phone_gyro-20261120235301-01-02.json", "phone_gyro2-20261120235301.json", "phone_gyro-20261120235301",
        "phone_gyro-20261120235301-+1.json", "phone_gyro-x-20261120235301.json", "phone_gyro-٢٠٢٦١١٢٠٢٣٥٣٠١.json",
    ])
    func otherNamesAreNotTaken(name: String) {
        #expect(FinishedName(name, of: log) == nil)
    }

    /// SEEDS case 16, and numbers beyond 99.
    @Test func namesStandInTheOrderInWhichFilesWereFinished() {
        let inOrder =
            [name("20261120235259", 150)] + (0...120).map { name("20261120235301", $0) } + [name("20261120235302")]
        #expect(inOrder.shuffled().sorted() == inOrder)
    }

    @Test func aLaterFilesNameIsNeverSmaller() throws {
        let date = try WallTime(iso8601: "2026-11-20T23:53:01.5Z")
        func next(after last: FinishedName?) -> String {
            FinishedName(log: log, finishedAt: date, after: last, format: .json).description
        }
        #expect(next(after: nil) == "phone_gyro-20261120235301.json")
        #expect(next(after: name("20261120235300", 7)) == "phone_gyro-20261120235301.json")
        #expect(next(after: name("20261120235301")) == "phone_gyro-20261120235301-01.json")
        #expect(next(after: name("20261120235301", 99)) == "phone_gyro-20261120235301-100.json")
        // The clock was set back.
        #expect(next(after: name("20261120235302")) == "phone_gyro-20261120235302-01.json")
        #expect(next(after: name("20271120235302", 3)) == "phone_gyro-20271120235302-04.json")
    }
}
