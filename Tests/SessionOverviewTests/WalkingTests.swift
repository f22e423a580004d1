import Files
import Glibc
import Recording
import SessionOverview
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct WalkingTests {
    @Test func thePageSaysHowItWasWalked() throws {
        try withTemporaryDirectory { data in
            let session = try MadeSession(in: data)
            try session.add("left-wrist/accelerometer", rate: 25)
            for index in 0..<750 {
                let time = Double(index) / 25
                let isWalking = (5..<25).contains(time)
                try session.sample(
                    "left-wrist/accelerometer", time,
                    "0.1,0.1,\(1 + (isWalking ? 0.3 * sin(2 * .pi * 1.8 * time) : 0))")
            }
            try session.finish(at: 30)
            let page = try SessionPage.html(of: session.directory, countingStepsIn: ["accelerometer"])
            let section = try #require(page.firstRange(of: "<h2>Walking</h2>").map { page[$0.upperBound...] })
            let rows = section.split(separator: "<tr>").filter { $0.contains("<td") }
            // The stream, and its only bout.
            #expect(rows.prefix(2).allSatisfy { $0.contains("left-wrist/accelerometer") && $0.contains(">1.8") })
            #expect(try !SessionPage.html(of: session.directory).contains("<h2>Walking</h2>"))
            #expect(throws: RecordingError.self) {
                try SessionPage.html(of: session.directory, countingStepsIn: ["gyro"])
            }
        }
    }
}
