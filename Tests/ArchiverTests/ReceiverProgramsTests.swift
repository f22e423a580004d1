import Testing

@Suite struct ReceiverProgramsTests {
    /// Tests that need a receiver are skipped without it. This test fails instead, so that the skipping is noticed.
    @Test func theReceiversAreThere() {
        #expect(ReceiverPrograms.areThere, ReceiverPrograms.areMissing)
    }
}
