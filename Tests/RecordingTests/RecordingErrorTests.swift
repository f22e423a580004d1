import Files
import Recording
import SystemPackage
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RecordingErrorTests {
    @Test(arguments: [
        (Errno.noSpace, RecordingError.Code.noSpace), (.diskQuotaExceeded, .noSpace),
        (.readOnlyFileSystem, .notPermitted), (.permissionDenied, .notPermitted), (.fileExists, .alreadyExists),
        (.noSuchFileOrDirectory, .notFound), (.ioError, .inputOutput),
    ])
    func theSystemsAnswersHaveKinds(errno: Errno, code: RecordingError.Code) {
        #expect(RecordingError(errno, action: "write to", path: "x").code == code)
    }

    @Test func theDescriptionSaysWhatFailedWhyAndWhatToDo() {
        let error = RecordingError(.noSpace, action: "write to", path: "data/recordings/s1/phone_gyro.json")
        #expect(
            error.description
                == "Could not write to data/recordings/s1/phone_gyro.json: No space left on device. "
                + "Everything recorded so far is intact. Free some space and start a new recording.")
    }
}
