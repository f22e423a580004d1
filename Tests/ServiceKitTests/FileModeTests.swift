import ServiceKit
import Testing

@Suite struct FileModeTests {
    @Test(arguments: [("0640", 0o750), ("600", 0o700), ("0660", 0o770), ("0644", 0o755), ("666", 0o777)])
    func aDirectoryIsEnteredByWhoMayRead(text: String, directory: UInt32) throws {
        #expect(try FileMode(typed: text).directoryBits == directory)
    }

    @Test func aModeIsReadBack() throws {
        #expect(FileMode.standard.description == "0640")
        #expect(try FileMode(typed: FileMode.standard.description) == .standard)
    }

    @Test(arguments: ["", "0750", "0440", "0200", "rw-r-----", "8", "01640", "-640"])
    func whatIsNoModeOfAFileIsRefused(text: String) { #expect(throws: InvalidValue.self) { try FileMode(typed: text) } }
}
