import MessageBus
import Messages
import PublisherCore
import Runtime
import ServiceKit
import ZeroMQ

/// The connection to a recorder, for devices that push.
struct RecorderLink: Sendable {
    let listener: Listener
    let client: RequestClient

    /// - Returns: nil without `listen-http`, and if no recorder is configured and the default one's key is missing.
    init?(_ settings: PublisherSettings, on host: ServiceHost) async throws {
        guard settings.listenHTTP != nil else { return nil }
        let events = settings.recorderEvents ?? Program.recorder.defaultPublish
        do {
            client = try host.peers.client(of: .recorder, at: settings.recorder ?? Program.recorder.defaultReply)
            listener = try await host.listener(
                to: [TopicArea.recording], of: .recorder, at: [events], isNeeded: false)
        } catch is ServiceError where settings.recorder == nil && settings.recorderEvents == nil {
            return nil
        }
    }
}

/// The recorded streams of a device, as `/recording` returns them.
struct RecordedDevice: Encodable, Sendable {
    struct Stream: Encodable, Sendable {
        var session: String
        var stream: String
        var samples: Int
        var paused: Bool?
    }

    /// The sessions that run, with or without the device.
    var sessions: [String]
    var streams: [Stream]
    /// Why nothing is stored; nil while no problem is known.
    var problem: String?
}

extension SamplingEngine {
    /// How long the recorder's last answer is reused, in nanoseconds, to bound its load from phones.
    private static let statusLife: Int64 = 1_000_000_000
    /// The most sessions to request from the recorder at once.
    private static let maximumSessions = 100

    func take(_ batch: MessageBatch) {
        forEachEvent(in: batch) { frames, _, _ in core.note(try frames.decode(RecordingEvent.self), at: runtime.now) }
        perform()
    }

    /// The recorded streams of a device.
    func recording(of device: String) async -> RecordedDevice {
        let sessions = core.runningSessions(at: now)
        if let recorder, now.monotonic - statusesAt >= Self.statusLife {
            // Requests that arrive meanwhile get the previous answer.
            statusesAt = now.monotonic
            var found: [RecordingState] = []
            for session in sessions.prefix(Self.maximumSessions) {
                let state = try? await recorder.client.send(RecordingStatus(session: session), timeout: .seconds(1))
                guard let state else { break }
                found.append(state)
            }
            statuses = found
        }
        let running = Set(sessions)
        let streams = statuses.filter { running.contains($0.session) }.flatMap { state in
            state.logs.filter { $0.stream.device == device }.map { log in
                RecordedDevice.Stream(
                    session: state.session, stream: log.stream.stream, samples: log.samples,
                    paused: state.paused ? true : log.paused)
            }
        }
        return RecordedDevice(sessions: sessions, streams: streams, problem: core.storageProblem)
    }
}
