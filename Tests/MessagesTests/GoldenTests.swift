import FoundationEssentials
import Messages
import Testing

/// Every message has a file in `Golden` with its bytes. A file that no longer matches is a breaking change of the wire format:
/// add a new version of the message instead of changing the file.
@Suite(.timeLimit(.minutes(5)))
struct GoldenTests {
    private static let clock = ClockReading(
        uptime: 1234.5, date: WallTime(nanosecondsSince1970: 1_795_219_200_123_456_000))
    private static let date = WallTime(nanosecondsSince1970: 1_795_219_200_500_000_000)
    private static let wrist = StreamName(device: "left-wrist", stream: "accelerometer")
    private static let gap = Gap(epoch: "7D1B0C4E", from: 120, count: 30, reason: .notRetained)

    private static let description = StreamDescription(
        source: "sensor-publisher", sequence: 7, device: "left-wrist", stream: "accelerometer", epoch: "7D1B0C4E",
        state: .running, fields: ["uptime", "x", "y", "z"], unit: "g", rate: 100, packed: false, nextSequence: 700,
        replay: "tcp://127.0.0.1:5551", clock: clock, description: "a walk",
        truth: SignalTruth(steps: 12, cadence: 1.8))

    private static let report = SessionReport(
        session: "s1", task: "Walk", status: "finished", startDate: clock.date, endDate: date,
        streams: [
            SessionReport.Stream(
                stream: wrist, log: "left-wrist_accelerometer", files: ["left-wrist_accelerometer-20261121000000.json"],
                bytes: 4_096, expected: 150, received: 120, recovered: 10, duplicates: 0, lost: 30, paused: 5,
                gaps: [gap], isEndKnown: true, nominalRate: 100, actualRate: 99.98, firstUptime: 1234.5,
                lastUptime: 1236)
        ],
        commitLatency: SessionReport.Latency(count: 12, median: 0.05, p99: 0.1, maximum: 0.11), failures: [])

    private static let log = LogSummary(
        name: "left-wrist_accelerometer", file: "left-wrist_accelerometer.json", stream: wrist, samples: 120,
        bytes: 4_096, gaps: 1, recovered: 10)
    private static let path = "recordings/s1/left-wrist_accelerometer-20261121000000.json"
    private static let state = RecordingState(
        session: "s1", status: "running", step: "Walk/return", paused: false, logs: [log])
    private static let result = RecordingResult(
        session: "s1", status: "finished", report: report, directory: "/data/recordings/s1",
        logs: [
            RecordingResult.Log(
                name: "left-wrist_accelerometer", files: ["left-wrist_accelerometer-20261121000000.json"], samples: 115,
                gaps: 1)
        ])

    @Test func samples() throws {
        let batch = SampleBatch(
            source: "sensor-publisher", sequence: 40, device: "left-wrist", stream: "accelerometer", epoch: "7D1B0C4E",
            count: 2, fields: ["uptime", "x", "y", "z"], clock: Self.clock,
            values: [[1234.5, 0.01, -1, 1e-05], [1234.51, .nan, .infinity, -0.0]])
        try expectGolden("samples.v1", batch)
        var slept = batch
        slept.clock.elapsed = 5234.75
        try expectGolden("samples.v1-elapsed", slept)
        var packed = batch
        packed.values = nil
        try expectGolden("samples.v1-packed", packed)
        try expectGolden(
            "samples.v1-records",
            SampleBatch(
                source: "sensor-publisher", sequence: 40, device: "phone", stream: "events", epoch: "7D1B0C4E",
                count: 2,
                fields: ["uptime", "label", "heading", "valid", "date", "touches"],
                types: [.number, .text, .number, .boolean, .date, .json], clock: Self.clock, values: nil,
                records: [
                    [
                        .number(1234.5), .string("walk"), .number(270.25), .boolean(true),
                        .string("2026-11-21T00:00:00Z"),
                        .array([.object(["phase": .string("began"), "x": .integer(1)])]),
                    ],
                    [.number(1234.51), .string(""), .null, .boolean(false), .null, .array([])],
                ]))
    }

    @Test func events() throws {
        try expectGolden("stream.v1", Self.description)
        var described = Self.description
        described.clock.elapsed = 5234.75
        try expectGolden("stream.v1-elapsed", described)
        var simulated = Self.description
        simulated.origin = .simulated
        try expectGolden("stream.v1-origin", simulated)
        var over = Self.description
        (over.state, over.over) = (.stopped, true)
        try expectGolden("stream.v1-over", over)
        var counting = Self.description
        counting.first = 500
        try expectGolden("stream.v1-first", counting)
        var remote = Self.description
        remote.remoteClock = RemoteClock(offset: -12.5, roundTrip: 0.00025, uptime: 1_230.25)
        try expectGolden("stream.v1-remote", remote)
        var failed = Self.description
        failed.state = .failed
        failed.reason = "standard input was closed"
        failed.lastSample = 1230.25
        failed.retention = 600
        try expectGolden("stream.v1-failed", failed)
        var records = Self.description
        records.fields = ["uptime", "label", "x"]
        records.types = [.number, .text, .number]
        try expectGolden("stream.v1-records", records)
        try expectGolden(
            "recording.v1",
            RecordingEvent(
                source: "recorder", sequence: 3, session: "s1", date: Self.date, change: .gap, status: "running",
                step: "Walk/return", stream: Self.wrist, gap: Self.gap))
        try expectGolden(
            "recording.v1-report",
            RecordingEvent(
                source: "recorder", sequence: 4, session: "s1", date: Self.date, change: .report, status: "finished",
                step: "Walk", report: Self.report))
        try expectGolden(
            "segment.v1",
            SegmentFinished(
                source: "recorder", sequence: 0, session: "s1", log: "left-wrist_accelerometer",
                path: "recordings/s1/left-wrist_accelerometer-20261121000000.json", bytes: 4_096, samples: 115,
                sha256: "e3b0c442"))
        try expectGolden(
            "log.v1",
            LogFileEvent(
                source: "log-manager", sequence: 3, name: Self.log.name, change: .removed, date: Self.date,
                path: Self.path, bytes: 4_096, reason: "whenFull"))
        try expectGolden(
            "log.v1-threshold",
            LogFileEvent(
                source: "log-manager", sequence: 0, name: LogFileEvent.allLogs, change: .threshold, date: Self.date,
                bytes: 12_000, threshold: "totalBytes", limit: 10_000))
        try expectGolden(
            "steps.v1",
            StepEvent(
                source: "step-counter", sequence: 7, device: "left-wrist", change: .update, date: Self.date,
                subscription: "3F2A", startDate: Self.clock.date, numberOfSteps: 310, cadence: 1.75,
                boutStart: Self.clock.date, distance: 232.5))
        try expectGolden(
            "steps.v1-pause",
            StepEvent(
                source: "step-counter", sequence: 8, device: "left-wrist", change: .pause, date: Self.date,
                boutStart: Self.clock.date))
        try expectGolden(
            "steps.v1-gait",
            StepEvent(
                source: "step-counter", sequence: 8, device: "left-wrist", change: .pause, date: Self.date,
                boutStart: Self.clock.date, confidence: 0.75, gait: Self.gait))
        try expectGolden(
            "steps.v1-gap",
            StepEvent(
                source: "step-counter", sequence: 9, device: "left-wrist", change: .gap, date: Self.date,
                stream: Self.wrist, gap: Self.gap))
        try expectGolden(
            "steps.v1-coverage",
            StepEvent(
                source: "step-counter", sequence: 10, device: "left-wrist", change: .update, date: Self.date,
                subscription: "3F2A", startDate: Self.clock.date, numberOfSteps: 310, coverage: 0.75,
                gaps: [Self.uncounted]))
        try expectGolden(
            "steps.v1-appear",
            StepEvent(
                source: "step-counter", sequence: 11, device: "left-wrist", change: .appear, date: Self.date,
                stream: Self.wrist))
        try expectGolden(
            "steps.v1-end",
            StepEvent(
                source: "step-counter", sequence: 12, device: "left-wrist", change: .end, date: Self.date,
                subscription: "3F2A", startDate: Self.clock.date, numberOfSteps: 310))
    }

    @Test func archives() throws {
        let status = ArchiveStatus(
            session: "s1", state: .uploaded, path: "archives/s1.zip", bytes: 4_096, sha256: "e3b0c442",
            receipt: .object(["etag": .string("9b2c")]))
        try expectGolden(ArchiveCreate(session: "s1"))
        try expectGolden(ArchiveStatusRequest(session: "s1"))
        try expectGolden(reply: ArchiveStatusRequest.self, status)
        try expectGolden(ArchiveRetry(session: "s1"))
        try expectGolden(ArchiveList(after: "s0", limit: 100))
        try expectGolden(
            reply: ArchiveList.self,
            ArchiveList.Reply(
                archives: [status, ArchiveStatus(session: "s2", state: .failed, reason: "the disk is full")],
                more: true))
        try expectGolden(
            "archive.v1",
            ArchiveEvent(
                source: "archiver", sequence: 1, session: "s1", change: .uploaded, date: Self.date,
                path: "archives/s1.zip", bytes: 4_096, sha256: "e3b0c442", location: "s3://study/s1.zip"))
        try expectGolden(
            "archive.v1-failed",
            ArchiveEvent(
                source: "archiver", sequence: 2, session: "s2", change: .failed, date: Self.date, code: "noSpace",
                reason: "the disk is full"))
    }

    @Test func serviceRequests() throws {
        try expectGolden(ServiceHealth())
        try expectGolden(
            reply: ServiceHealth.self,
            ServiceHealth.Reply(
                status: .degraded, reasons: ["the disk is slow"], uptime: 12.5, version: "0.1.0",
                measures: ["latenessMedianSeconds": 0.0001]))
        try expectGolden(ServiceClock())
        try expectGolden(reply: ServiceClock.self, ServiceClock.Reply(clock: Self.clock))
        try expectGolden(ServiceDescribe())
        try expectGolden(
            reply: ServiceDescribe.self,
            ServiceDescribe.Reply(
                name: "recorder", version: "0.1.0", endpoints: ["publish": "tcp://127.0.0.1:5560"],
                methods: ["recording.list", "service.health"]))
    }

    @Test func streamRequests() throws {
        try expectGolden(StreamsList())
        try expectGolden(reply: StreamsList.self, StreamsList.Reply(streams: [Self.description]))
        try expectGolden(StreamsStart(stream: Self.wrist))
        try expectGolden(StreamsStop(stream: Self.wrist))
        try expectGolden(PhonesLink())
        try expectGolden(
            reply: PhonesLink.self,
            PhonesLink.Reply(link: "https://192.0.2.7:8443/phone#token=9b2c", code: ["10", "01"]))
        try expectGolden(
            SamplesReplay(device: "left-wrist", stream: "accelerometer", epoch: "7D1B0C4E", from: 120, count: 30))
        try expectGolden(
            reply: SamplesReplay.self, SamplesReplay.Reply(from: 130, count: 20, first: 130, last: 699))
    }

    @Test func rangesOfSeveralStreams() throws {
        let requests = [
            SamplesReplay(device: "left-wrist", stream: "accelerometer", epoch: "7D1B0C4E", from: 120, count: 30),
            SamplesReplay(device: "right-wrist", stream: "accelerometer", epoch: "0A2F", from: 7, count: 5),
        ]
        try expectGolden(
            "samples.replay-ranges", RequestEnvelope(id: .integer(1), params: SamplesReplay(requests)))
        let parts: [SamplesReplay.Reply.Part] = [
            .init(.init(from: 130, count: 20, first: 130, last: 699), frames: 2),
            .init(RequestError(.unknownEpoch, "it started anew"), from: 7),
        ]
        try expectGolden(
            "samples.replay-ranges-reply", ReplyEnvelope(id: .integer(1), result: SamplesReplay.Reply(parts)))
        // A publisher that does not support ranges answers for the first one.
        let first = try WireCoding.decode(
            RequestEnvelope<SamplesReplay>.self, from: golden("samples.replay-ranges")
        ).params
        #expect(SamplesReplay.Range(first) == SamplesReplay.Range(requests[0]))
        #expect(SamplesReplay([requests[0]]) == requests[0])
    }

    @Test func recordingRequests() throws {
        try expectGolden(
            RecordingStart(
                session: "s1", task: "Walk", step: "outbound", streams: ["left-wrist/"], format: "json", root: "array",
                maximumFileSize: 1_000_000, maximumFileAge: 3_600, duration: 20))
        try expectGolden(
            reply: RecordingStart.self, RecordingStart.Reply(session: "s1", status: "running", logs: [Self.log]))
        try expectGolden(RecordingMoveTo(session: "s1", step: "return"))
        try expectGolden(reply: RecordingMoveTo.self, Self.state)
        try expectGolden(RecordingPause(session: "s1"))
        try expectGolden(RecordingResume(session: "s1"))
        try expectSingleStreamGoldens()
        try expectGolden(RecordingCancel(session: "s1"))
        try expectGolden(RecordingStatus(session: "s1"))
        try expectGolden(RecordingStop(session: "s1"))
        try expectGolden(
            "recording.stop-results",
            RecordingStop(
                session: "s1",
                results: .object([
                    "stepHistory": .array([.object(["identifier": .string("age"), "value": .integer(42)])])
                ])))
        try expectGolden(reply: RecordingStop.self, Self.result)
        try expectGolden(RecordingResultRequest(session: "s1"))
        try expectGolden(
            "recording.result-encoded",
            RequestEnvelope(id: .integer(1), params: RecordingResultRequest(session: "s1", encoded: true)))
        var encoded = Self.result
        encoded.taskResult = .object(["identifier": .string("Walk"), "type": .string("task")])
        try expectGolden(
            "recording.result-encoded-reply", ReplyEnvelope(id: .integer(1), result: encoded))
        try expectGolden(RecordingSetResults(session: "s1", results: .object(["stepHistory": .array([])])))
        try expectGolden(RecordingAddFile(session: "s1", name: "photo.jpg", offset: 1_048_576, more: true))
        try expectGolden(
            reply: RecordingAddFile.self,
            RecordingAddFile.Reply(session: "s1", name: "photo.jpg", bytes: 2_097_152, sha256: "e3b0c442"))
        try expectGolden(
            "recording.start-keys",
            RequestEnvelope(
                id: .integer(1),
                params: RecordingStart(
                    streams: ["*"], duration: 60, resultsWithin: 30, keys: .object(["schedule": .string("w48")]))))
        let annotation = Annotation(
            number: 3, label: "sit", from: Self.clock.date, to: Self.date, stream: Self.wrist, note: "on the bench",
            date: Self.date, corrects: 2)
        try expectGolden(
            RecordingAnnotate(
                session: "s1", label: "sit", from: Self.clock.date, to: Self.date, stream: Self.wrist,
                note: "on the bench", corrects: 2))
        try expectGolden(
            reply: RecordingAnnotate.self, RecordingAnnotate.Reply(session: "s1", annotation: annotation))
        try expectGolden(
            "recording.v1-annotation",
            RecordingEvent(
                source: "recorder", sequence: 5, session: "s1", date: Self.date, change: .annotation,
                status: "running", step: "Walk/return", stream: Self.wrist, annotation: annotation))
        try expectGolden(
            "recording.start-before",
            RequestEnvelope(id: .integer(1), params: RecordingStart(streams: ["*"], duration: 60, before: 30)))
        try expectGolden(
            "recording.start-from",
            RequestEnvelope(id: .integer(1), params: RecordingStart(streams: ["*"], duration: 60, from: Self.date)))
        let continued = RecordingStart(
            session: "s1", streams: ["*"], from: Self.clock.date, until: Self.date,
            changes: [
                SessionChange(.step, at: Self.date, step: "return"),
                SessionChange(.pause, at: Self.date, stream: Self.wrist),
            ])
        try expectGolden("recording.start-changes", RequestEnvelope(id: .integer(1), params: continued))
        try expectGolden(RecordingPlan(session: "s1"))
        try expectGolden(
            reply: RecordingPlan.self,
            RecordingPlan.Reply(
                session: "s1", status: "running",
                plan: SessionPlan(start: continued, annotations: [annotation])))
        try expectGolden(RecordingExtend(session: "s1", until: Self.date))
        try expectGolden(
            "recording.start-keep",
            RequestEnvelope(id: .integer(1), params: RecordingStart(streams: ["*"], keep: 86_400)))
        try expectGolden(RecordingKeep(session: "s1", from: Self.clock.date, to: Self.date))
        try expectGolden(
            reply: RecordingKeep.self,
            RecordingKeep.Reply(
                session: "s1", from: Self.clock.date, to: Self.date, files: [Self.path], removed: [Self.path]))
        try expectGolden(RecordingDiscard(session: "s1", force: true))
        try expectGolden(
            reply: RecordingDiscard.self,
            RecordingDiscard.Reply(session: "s1", date: Self.date, uploaded: Self.clock.date, isComplete: true))
        try expectGolden(
            "recording.v1-discard",
            RecordingEvent(
                source: "recorder", sequence: 0, session: "s1", date: Self.date, change: .discard, status: "finished",
                step: ""))
        var described = Self.state
        described.failures = ["left-wrist/accelerometer failed"]
        described.lastFailure = "left-wrist/accelerometer failed"
        described.task = "Walk"
        described.currentStep = "return"
        described.startDate = Self.clock.date
        described.configuration = RecordingState.Configuration(
            streams: ["left-wrist/"], format: "json", root: "array", maximumFileSize: 1_000_000, maximumFileAge: 3_600,
            duration: 60, shard: "1/2")
        try expectGolden(reply: RecordingStatus.self, described)
        try expectGolden(
            "recording.v1-current",
            RecordingEvent(
                source: "recorder", sequence: 5, session: "s1", date: Self.date, change: .current, status: "running",
                step: "Walk/return"))
        try expectGolden(
            "recording.list-page", RequestEnvelope(id: .integer(1), params: RecordingList(after: "s0", limit: 2)))
        try expectGolden(RecordingList())
        try expectGolden(
            reply: RecordingList.self,
            RecordingList.Reply(recordings: [
                RecordingList.Entry(session: "s1", status: "finished", startDate: Self.clock.date, endDate: Self.date),
                RecordingList.Entry(session: "s2", status: "running", startDate: Self.date),
            ]))
    }

    private func expectSingleStreamGoldens() throws {
        var start = RecordingStart(session: "s1", streams: [])
        let choice = StreamChoice("left-wrist/", fromStep: "walk", toStep: "turn")
        start.streams = [StreamChoice("phone/"), choice]
        try expectGolden("recording.start-steps", RequestEnvelope(id: .integer(1), params: start))
        try expectGolden(
            "recording.pause-stream",
            RequestEnvelope(id: .integer(1), params: RecordingPause(session: "s1", stream: Self.wrist)))
        try expectGolden(
            "recording.resume-stream",
            RequestEnvelope(id: .integer(1), params: RecordingResume(session: "s1", stream: Self.wrist)))
        var paused = Self.state
        paused.logs[0].paused = true
        paused.pausedStreams = [Self.wrist]
        paused.configuration = RecordingState.Configuration(
            streams: ["phone/", "left-wrist/"], format: "json", root: "array", choices: [choice])
        try expectGolden("recording.status-reply-streams", ReplyEnvelope(id: .integer(1), result: paused))
        try expectGolden(
            "recording.v1-pause",
            RecordingEvent(
                source: "recorder", sequence: 5, session: "s1", date: Self.date, change: .pause, status: "running",
                step: "Walk/return", stream: Self.wrist))
    }

    @Test func stepRequests() throws {
        try expectGolden(StepsIsAvailable(device: "left-wrist"))
        try expectGolden(reply: StepsIsAvailable.self, StepsIsAvailable.Reply(available: true))
        try expectGolden(StepsStartUpdates(device: "left-wrist", updateOn: 100))
        try expectGolden(
            reply: StepsStartUpdates.self,
            StepsStartUpdates.Reply(subscription: "3F2A", topic: "steps/left-wrist", startDate: Self.date))
        try expectGolden(
            "steps.startUpdates-named",
            StepsStartUpdates(device: "left-wrist", updateOn: 100, name: "study", lifetime: 3_600))
        try expectGolden(
            "steps.startUpdates-reply-unknown",
            StepsStartUpdates.Reply(
                subscription: "3F2A", topic: "steps/left-wrist", startDate: Self.date, numberOfSteps: 0, isKnown: false)
        )
        try expectGolden(StepsSubscriptions(device: "left-wrist"))
        try expectGolden(
            reply: StepsSubscriptions.self,
            StepsSubscriptions.Reply(subscriptions: [
                StepsSubscriptions.Subscription(
                    subscription: "3F2A", device: "left-wrist", name: "study", updateOn: 100,
                    startDate: Self.clock.date, renewedDate: Self.date, lifetime: 3_600, numberOfSteps: 310,
                    isKnown: true)
            ]))
        try expectGolden(StepsStopUpdates(subscription: "3F2A"))
        try expectGolden(reply: StepsStopUpdates.self, StepsStopUpdates.Reply(numberOfSteps: 310))
        try expectGolden(
            StepsQuery(device: "left-wrist", from: Self.clock.date, to: Self.date, interval: 0.25))
        try expectGolden(
            reply: StepsQuery.self,
            StepsQuery.Reply(
                numberOfSteps: 2, firstAvailable: Self.clock.date,
                bins: [StepsQuery.Bin(from: Self.clock.date, to: Self.date, numberOfSteps: 2)]))
        try expectGolden(
            "steps.query-reply-coverage",
            StepsQuery.Reply(
                numberOfSteps: 2, firstAvailable: Self.clock.date,
                bins: [StepsQuery.Bin(from: Self.clock.date, to: Self.date, numberOfSteps: 2, coverage: 0.75)],
                coverage: 0.75, gaps: [Self.uncounted], gapsOmitted: 1, isKnown: true))
        try expectGolden(
            StepsQuery(device: "left-wrist", from: Self.clock.date, to: Self.date, gait: true, bouts: true),
            variant: "-bouts")
        try expectGolden(
            "steps.query-reply-bouts",
            StepsQuery.Reply(
                numberOfSteps: 21, firstAvailable: Self.clock.date,
                bins: [
                    StepsQuery.Bin(
                        from: Self.clock.date, to: Self.date, numberOfSteps: 21,
                        expectedError: StepError(falseSteps: 0.5, missedSteps: 1.25))
                ], expectedError: StepError(falseSteps: 0.5, missedSteps: 1.25),
                bouts: [
                    StepsQuery.Bout(
                        from: Self.clock.date, to: Self.date, numberOfSteps: 21, confidence: 0.75, gait: Self.gait)
                ]))
    }

    private static let gait: GaitMeasures = {
        var gait = GaitMeasures()
        gait.steps = 21
        gait.walkingTime = 10
        gait.cadence = 2
        gait.stepTime = 0.5
        gait.strideTime = 1
        gait.strideTimeVariability = 0.03125
        gait.strides = 19
        return gait
    }()

    private static let uncounted = UncountedTime(
        from: clock.date, to: date, reason: UncountedTime.Reason(rawValue: "notRetained"), samples: 30)

    @Test func logRequests() throws {
        let name = Self.log.name
        let receipt = JSONValue.object(["etag": .string("9b2c")])
        try expectGolden(LogsAdd(name: name, format: "csv", maximumFileSize: 1_000_000, maximumFileAge: 3_600))
        try expectGolden(
            reply: LogsAdd.self,
            LogConfiguration(name: name, format: "csv", maximumFileSize: 1_000_000, maximumFileAge: 3_600))
        try expectGolden(LogsRemove(name: name, deleteFiles: true))
        try expectGolden(reply: LogsRemove.self, LogsRemove.Reply(name: name, removed: [Self.path]))
        try expectGolden(LogsNames())
        try expectGolden(reply: LogsNames.self, LogsNames.Reply(names: [name]))
        try expectGolden(
            reply: LogsNames.self, LogsNames.Reply(names: [name], patterns: ["left-*"]), variant: "-patterns")
        try expectGolden(LogsGet(name: name))
        try expectGolden(LogsGet(name: name, orDefaults: true), variant: "-defaults")
        try expectGolden(LogsSet(name: name, maximumFileSize: 2_000_000))
        try expectGolden(LogsFinish(name: "left-*", session: "s1"))
        try expectGolden(reply: LogsFinish.self, LogsFinish.Reply(files: [Self.path]))
        try expectGolden(LogsList(uploaded: true), variant: "-uploaded")
        try expectGolden(LogsList(name: name, after: Self.path, limit: 100))
        try expectGolden(
            reply: LogsList.self,
            LogFileList(
                files: [
                    LogFileEntry(
                        name: name, session: "s1", path: Self.path, bytes: 4_096, finished: Self.date, uploaded: true,
                        receipt: receipt, sha256: "e3b0c442")
                ], more: true))
        try expectGolden(LogsNeedingUpload())
        try expectGolden(LogsMarkUploaded(paths: [Self.path], receipt: receipt))
        let file = LogsMarkUploaded.File(path: Self.path, bytes: 4_096, sha256: "e3b0c442")
        try expectGolden(LogsMarkUploaded(paths: [Self.path], receipt: receipt, files: [file]), variant: "-files")
        try expectGolden(
            reply: LogsMarkUploaded.self,
            LogFileOutcome(
                done: [Self.path], refused: [LogFileOutcome.Refusal(path: "x", reason: "it is not there")]))
        try expectGolden(LogsUnmarkUploaded(paths: [Self.path]))
        try expectGolden(LogsRemoveUploaded(paths: [Self.path]))
        try expectGolden(LogsRemoveOldAndUploaded(bytes: 1_000))
        try expectGolden(
            reply: LogsRemoveOldAndUploaded.self,
            LogsRemoveOldAndUploaded.Reply(removed: [Self.path], totalBytes: 900))
    }

    @Test func logAccounts() throws {
        try expectGolden(LogsThresholds())
        try expectGolden(
            reply: LogsThresholds.self, LogThresholds(pendingUploadBytes: 1, totalBytes: 2, minimumFreeBytes: 3))
        try expectGolden(LogsSetThresholds(pendingUploadBytes: 1, totalBytes: 2, minimumFreeBytes: 3))
        try expectGolden(LogsUsage(logs: true))
        try expectGolden(
            reply: LogsUsage.self,
            LogsUsage.Reply(
                pendingUploadBytes: 1, totalBytes: 2, currentBytes: 3, freeBytes: 4,
                logs: [
                    LogsUsage.Log(
                        name: Self.log.name, files: 2, bytes: 2, pendingFiles: 1, pendingBytes: 1, oldest: Self.date)
                ]))
        try expectGolden(
            reply: LogsUsage.self,
            LogsUsage.Reply(
                pendingUploadBytes: 1, totalBytes: 2, currentBytes: 3, freeBytes: 4,
                logs: [
                    LogsUsage.Log(
                        name: Self.log.name, files: 2, bytes: 2, pendingFiles: 1, pendingBytes: 1, oldest: Self.date,
                        currentBytes: 3)
                ], otherBytes: 5), variant: "-current")
    }

    @Test func aReceiptIsAnyJSON() throws {
        let text = #"{"paths":[],"receipt":{"a":[1,2.5,"x",true,null],"b":{}}}"#
        let request = try WireCoding.decode(LogsMarkUploaded.self, from: text.utf8)
        #expect(
            request.receipt
                == .object([
                    "a": .array([.integer(1), .number(2.5), .string("x"), .boolean(true), .null]), "b": .object([:]),
                ]))
        #expect(String(decoding: try WireCoding.encode(request), as: UTF8.self) == text)
    }

    @Test func refusals() throws {
        try expectGolden(
            "error", ReplyEnvelope<Empty>(id: .text("a"), error: RequestError(.alreadyRunning, "s1 is running")))
        try expectGolden(
            "error-standard", ReplyEnvelope<Empty>(id: .null, error: .notJSON("the request is not JSON")))
        let busy = RequestError(.busy, "too much to do", retryAfter: 0.5)
        try expectGolden("error-busy", ReplyEnvelope<Empty>(id: .integer(2), error: busy))
    }

    @Test func paramsMayBeLeftOutWhereAllAreOptional() throws {
        let text = #"{"jsonrpc":"2.0","id":1,"method":"recording.list"}"#
        let envelope = try WireCoding.decode(RequestEnvelope<RecordingList>.self, from: text.utf8)
        #expect(envelope.id == .integer(1))
        #expect(throws: DecodingError.self) {
            try WireCoding.decode(RequestEnvelope<RecordingStart>.self, from: text.utf8)
        }
    }

    @Test func fieldsOfALaterVersionArePassedOver() throws {
        let bytes = try golden("stream.v1")
        let later = "{\"aaa\":{\"b\":[1,2]}," + String(decoding: bytes.dropFirst(), as: UTF8.self)
        #expect(try WireCoding.decode(StreamDescription.self, from: later.utf8) == Self.description)
    }

    private func expectGolden<Params: Request & Equatable>(_ request: Params, variant: String = "") throws {
        let envelope = RequestEnvelope(id: .integer(1), params: request)
        let name = "\(Params.method)\(variant)"
        let bytes = try WireCoding.encode(envelope)
        #expect(String(decoding: bytes, as: UTF8.self) == String(decoding: try golden(name), as: UTF8.self))
        #expect(try WireCoding.decode(RequestEnvelope<Params>.self, from: golden(name)).params == request)
    }

    private func expectGolden<Params: Request>(
        reply type: Params.Type, _ reply: Params.Reply, variant: String = ""
    ) throws where Params.Reply: Equatable {
        let name = "\(Params.method)\(variant)-reply"
        let bytes = try WireCoding.encode(ReplyEnvelope(id: .integer(1), result: reply))
        #expect(String(decoding: bytes, as: UTF8.self) == String(decoding: try golden(name), as: UTF8.self))
        #expect(try WireCoding.decode(ReplyEnvelope<Params.Reply>.self, from: golden(name)).result == reply)
    }

    private func expectGolden(_ name: String, _ value: some Codable & Sendable) throws {
        let bytes = try WireCoding.encode(value)
        #expect(String(decoding: bytes, as: UTF8.self) == String(decoding: try golden(name), as: UTF8.self))
        // The decoded message encodes to the same bytes: nothing was lost.
        let copy = try WireCoding.decode(Swift.type(of: value), from: golden(name))
        #expect(try WireCoding.encode(copy) == bytes)
    }

    private func golden(_ name: String) throws -> [UInt8] {
        let path = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        var bytes = Array(try Data(contentsOf: URL(filePath: "\(path)/Golden/\(name).json")))
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        return bytes
    }
}
