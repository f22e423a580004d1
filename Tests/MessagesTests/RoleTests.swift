import Messages
import Testing

/// The role that each request needs, as documented in docs/security.md.
@Suite struct RoleTests {
    @Test func rolesIncludeThoseBeforeThem() {
        #expect(Role.listen < .command)
        #expect(Role.command < .delete)
        #expect(Role.listen < .delete)
        #expect(!(Role.delete < .delete))
    }

    @Test func whatCanLoseDataNeedsTheHighestRole() {
        #expect(LogsMarkUploaded(paths: []).neededRole == .delete)
        #expect(LogsRemoveUploaded(paths: []).neededRole == .delete)
        #expect(LogsRemoveOldAndUploaded(bytes: 0).neededRole == .delete)
        #expect(LogsSetThresholds().neededRole == .delete)
        #expect(RecordingDiscard(session: "").neededRole == .delete)
        #expect(LogsRemove(name: "a", deleteFiles: true).neededRole == .delete)
        #expect(LogsRemove(name: "a", deleteFiles: false).neededRole == .command)
        #expect(LogsRemove(name: "a").neededRole == .command)
    }

    @Test func whatChangesSomethingIsNotForListeners() throws {
        let stream = try #require(StreamName("a/b"))
        let changing: [any Request] = [
            StreamsStart(stream: stream), StreamsStop(stream: stream), PhonesLink(), RecordingStart(streams: []),
            RecordingMoveTo(session: "", step: nil), RecordingPause(session: ""), RecordingResume(session: ""),
            RecordingSetResults(session: "", results: .null), RecordingAnnotate(session: "", label: ""),
            RecordingAddFile(session: "", name: ""),
            RecordingCancel(session: ""), RecordingStop(session: ""), StepsStartUpdates(device: "", updateOn: 1),
            StepsStopUpdates(subscription: ""), LogsAdd(name: ""), LogsSet(name: ""), LogsFinish(),
            LogsUnmarkUploaded(paths: []),
            ArchiveCreate(session: ""), ArchiveRetry(session: ""),
        ]
        for request in changing { #expect(request.neededRole == .command, "\(type(of: request).method)") }
        let reading: [any Request] = [
            ServiceHealth(), ServiceDescribe(), ServiceClock(), StreamsList(),
            SamplesReplay(device: "", stream: "", epoch: "", from: 0, count: 1), RecordingStatus(session: ""),
            RecordingResultRequest(session: ""), RecordingList(), StepsIsAvailable(), StepsSubscriptions(),
            StepsQuery(device: "", from: .now, to: .now), LogsNames(), LogsGet(name: ""), LogsList(),
            LogsNeedingUpload(), LogsThresholds(), LogsUsage(), ArchiveStatusRequest(session: ""), ArchiveList(),
        ]
        for request in reading { #expect(request.neededRole == .listen, "\(type(of: request).method)") }
    }
}
