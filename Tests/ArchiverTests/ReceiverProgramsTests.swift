import Testing

@Suite struct ReceiverProgramsTests {
    /// Tests that need a receiver are skipped without it, which must not look as if all were well.
    @Test func theReceiversAreThere() {
        #expect(ReceiverPrograms.areThere, ReceiverPrograms.areMissing)
    }
}
