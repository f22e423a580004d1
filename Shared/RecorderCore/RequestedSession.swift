package import Messages
package import Recording
import ServiceKit

/// A request for a session, with everything checked.
package struct RequestedSession {
    /// How long ago a session may begin: a relay keeps samples for days, and a recorder that takes over needs them from the
    /// session's start.
    private static let earliestStart = TimeSpan.seconds(31 * 86_400)
    /// Seconds for which a session is still recorded if its end has passed.
    private static let leastDuration = 0.001
    /// Most bytes of JSON in all other keys together: they are part of every status.
    private static let maximumKeysLength = 16 << 10

    package let identifier: SessionIdentifier
    private let request: RecordingStart
    private let format: LogFormat
    private let root: JSONRoot
    private let shard: Shard?

    /// - Parameters:
    ///   - shard: the recorder's shard.
    ///   - date: the present time, from which a session without a name gets one.
    ///   - random: makes that name differ from others of the same second.
    /// - Throws: `RequestError` whose message says what to write instead.
    package init(_ request: RecordingStart, shard: Shard?, at date: WallTime, random: UInt16) throws {
        try Self.check(request.streams, shard: shard)
        try SessionRecord.check(request.task, "task")
        try SessionRecord.check(request.step, "step")
        try SessionRecord.check(request.changes, from: request.from)
        guard let format = LogFormat(rawValue: request.format ?? LogFormat.json.rawValue) else {
            throw RequestError(
                .invalidParameter, "'\(request.format ?? "")' is not a format: write one of \(LogFormat.words)")
        }
        guard let root = JSONRoot(rawValue: request.root ?? JSONRoot.array.rawValue) else {
            throw RequestError(.invalidParameter, "'\(request.root ?? "")' is not a root: write array or dictionary")
        }
        try Self.checkTimes(of: request, at: date)
        try Self.checkFiles(of: request)
        if let keys = request.keys { try Self.check(keys: keys) }
        identifier =
            try request.session.map { try SessionIdentifier(new: $0) }
            ?? SessionIdentifier(startedAt: date, random: random)
        (self.request, self.format, self.root, self.shard) = (request, format, root, shard)
    }

    /// The patterns of streams, as requested.
    package var streams: [String] { request.streams.map(\.stream) }

    /// The record with which the session begins.
    package func record(at date: WallTime) -> SessionRecord {
        let before =
            request.from.map { max(0, date.distance(from: $0)) } ?? Int64(nanosecondsIn: request.before ?? 0)
        let end = request.until.map { max(Self.leastDuration, $0.seconds(since: date)) }
        // A ring removes whole files, so they must be short.
        let ringFileAge = request.keep.map { min(max(1, $0 / 24), 3_600) }
        var record = SessionRecord(
            session: identifier, task: request.task ?? "", step: request.step ?? "", streams: streams,
            format: format, root: root, status: .starting, startDate: date.adding(-before),
            limits: SessionRecord.Limits(
                maximumFileSize: request.maximumFileSize, maximumFileAge: request.maximumFileAge ?? ringFileAge,
                duration: end ?? request.duration, resultsWithin: request.resultsWithin,
                before: before > 0 ? Double(before) / 1e9 : nil, keep: request.keep),
            shard: shard)
        record.choose(request.streams)
        record.take(request.changes ?? [])
        record.keys = request.keys
        if request.format == nil, request.root == nil { record.isFormatDefault = true }
        return record
    }

    // MARK: Checks

    private static func check(_ streams: [StreamChoice], shard: Shard?) throws(RequestError) {
        try RequestError.require(
            !streams.isEmpty,
            "streams is empty: name at least one, as \"device/stream\", \"device/\" for all of a device, or \"*\" for all"
        )
        try RequestError.require(
            streams.count <= StreamsList.maximumPatterns,
            "streams has \(streams.count) names: write at most \(StreamsList.maximumPatterns), \"device/\" for all of a "
                + "device")
        try SessionRecord.check(streams)
        for pattern in streams.map(\.stream) where pattern != StreamName.everything {
            let isDevice = pattern.hasSuffix("/") && StreamName(pattern + "x") != nil
            try RequestError.require(
                isDevice || StreamName(pattern) != nil,
                "'\(pattern)' names no stream: write \"device/stream\", \"device/\" for all of a device, or \"*\" for all"
            )
            guard let shard else { continue }
            let owner = Shard(of: String(pattern.prefix { $0 != "/" }), count: shard.count)
            try RequestError.require(
                owner == shard,
                "'\(pattern)' is for the recorder with shard \(owner), and this one has shard \(shard): ask that one",
                .unknownStream)
        }
    }

    private static func checkTimes(of request: RecordingStart, at date: WallTime) throws(RequestError) {
        let within = request.resultsWithin ?? 0
        try RequestError.require(
            within >= 0 && within <= 86_400, "resultsWithin is \(within): write seconds, up to 86400")
        let before = request.before ?? 1
        try RequestError.require(
            before > 0 && before <= 86_400, "before is \(before): write seconds greater than 0, up to 86400")
        let duration = request.duration ?? 1
        try RequestError.require(
            duration > 0 && duration < 1e9, "duration is \(duration): write seconds greater than 0")
        try RequestError.require(
            request.until == nil || request.duration == nil, "duration and until exclude each other: write one of them")
        guard let from = request.from else { return }
        try RequestError.require(request.before == nil, "before and from exclude each other: write one of them")
        try RequestError.require(
            from.nanosecondsSince1970 >= date.nanosecondsSince1970 - earliestStart.nanoseconds,
            "from is \(from.utcText): write a moment of the last 31 days")
    }

    private static func checkFiles(of request: RecordingStart) throws(RequestError) {
        let (size, age, keep) = (request.maximumFileSize ?? 1, request.maximumFileAge ?? 1, request.keep ?? 1)
        try RequestError.require(size >= 1, "maximumFileSize is \(size): write bytes, 1 or more, or leave it out")
        try RequestError.require(
            age >= 1 && age < 1e9, "maximumFileAge is \(age): write seconds, 1 or more, or leave it out")
        try RequestError.require(keep >= 1 && keep < 1e9, "keep is \(keep): write seconds, 1 or more")
    }

    private static func check(keys: JSONValue) throws {
        guard case .object = keys else {
            throw RequestError(.invalidParameter, "keys is not an object: write one, such as {\"schedule\": \"…\"}")
        }
        let length = try WireCoding.encode(keys).count
        try RequestError.require(
            length <= maximumKeysLength, "keys has \(length) bytes of JSON: write at most \(maximumKeysLength)")
    }
}
