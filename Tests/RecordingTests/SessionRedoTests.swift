import Files
import Messages
import SystemPackage
import TestSupport
import Testing

@testable import Recording

/// Interrupted sessions and the write-ahead log, at random: a recovery finds what was committed.
@Suite(.timeLimit(.minutes(5)))
struct SessionRedoTests {
    /// Set this to a seed that failed, to try it alone.
    private static let seed: UInt64? = nil

    private func withRecorder(_ body: (ScriptedRecorder, inout SplitMix, _ seed: UInt64) throws -> Void) throws {
        let seed = Self.seed ?? UInt64.random(in: 0...UInt64.max)
        var random = SplitMix(seed: seed ^ 1)
        try withTemporaryDirectory { data in
            do {
                try body(ScriptedRecorder(in: data.path, seed: seed), &random, seed)
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
        }
    }

    /// Repeated crashes with one log. Each recovery is interrupted, too, and repeated.
    @Test(arguments: 0..<12)
    func whatWasCommittedIsRecovered(number: Int) throws {
        try withRecorder { recorder, random, seed in
            for round in 0..<5 {
                let comment: Comment = "seed \(seed), crash \(round)"
                try recorder.run(Int.random(in: 1...200, using: &random))
                try recorder.crash(isPowerCut: Bool.random(using: &random))
                for _ in 0..<2 where Bool.random(using: &random) {
                    _ = try recorder.recover(Faults().cutOff(after: Int.random(in: 0...12, using: &random)))
                }
                try recorder.check(recorder.recover(), comment)
                let contents = try recorder.contents()
                let recovery = try recorder.recover()
                try recorder.check(recovery, comment)
                #expect(try recorder.contents() == contents, comment)
                try recorder.resume(recovery)
            }
        }
    }

    /// Whichever call ends a recovery, the next recovery has the same result.
    @Test(arguments: 0..<4)
    func aRecoveryThatIsInterruptedIsRepeated(number: Int) throws {
        try withRecorder { recorder, random, seed in
            try recorder.run(150)
            try recorder.crash(isPowerCut: true)
            let before = try recorder.contents()
            let faults = Faults()
            try recorder.check(recorder.recover(faults.cutOff(after: .max)), "seed \(seed)")
            let after = try recorder.contents()
            for count in 0..<faults.count {
                try recorder.restore(before)
                _ = try recorder.recover(Faults().cutOff(after: count))
                try recorder.check(recorder.recover(), "seed \(seed), interrupted after \(count) calls")
                #expect(try recorder.contents() == after)
            }
        }
    }

    /// A session that is not in this log is recovered from its files; the log is not read for it.
    @Test(arguments: 0..<4)
    func aLogOfAnotherIdentifierIsIgnored(number: Int) throws {
        try withRecorder { recorder, _, seed in
            try recorder.run(100)
            try recorder.commit()
            try recorder.apply()
            for session in recorder.sessions { try recorder.checkpoint(session) }
            try recorder.writeAll()
            try recorder.crash(isPowerCut: false)
            for session in recorder.sessions {
                var record = try session.directory.record()
                record.logPosition?.log = "L2"
                try session.directory.write(record)
            }
            // A log that no session needs may have been removed.
            let log = try WriteAheadLog.segments(in: recorder.logDirectory).isEmpty ? nil : "L1"
            let recovery = try recorder.recover()
            #expect(recovery.damage == nil && recovery.log == log, "seed \(seed)")
            for session in recorder.sessions {
                let recovered = try #require(recovery.outcomes[session.record.session]).get()
                #expect(!recovered.isFromLog && recovered.held.isEmpty && recovered.record.failures.isEmpty)
                for stream in session.streams {
                    let found = recovered.logs[stream.name]
                    let log = try #require(recovered.record.logs.first { $0.name == stream.name })
                    #expect(log.counts.written == stream.state.counts.written, "seed \(seed)")
                    // A table with only its first marker is begun anew.
                    #expect(
                        found?.file?.samples ?? 0 == stream.state.open.map { _ in stream.state.samples } ?? 0,
                        "seed \(seed)")
                }
            }
        }
    }

    /// Damage is never taken for the end of the log: the files stay as they are, and the session reports the damage.
    @Test(arguments: 0..<12)
    func aDamagedLogLeavesWhatTheFilesHave(number: Int) throws {
        try withRecorder { recorder, random, seed in
            try recorder.run(120)
            try recorder.commit()
            let needed = recorder.sessions.map(\.written).min() ?? 0
            for _ in 0..<3 {
                for session in recorder.sessions { recorder.appender.append(session.record, of: session.number) }
                try recorder.commit()
            }
            // Everything committed is in files.
            try recorder.writeAll()
            try recorder.crash(isPowerCut: false)
            let before = try recorder.samples()
            let segments = try WriteAheadLog.segments(in: recorder.logDirectory)
            let segment = try #require(segments.last { $0 <= max(needed, segments[0]) })
            let path = recorder.logDirectory.path.appending(WriteAheadLog.name(of: segment))
            var content = try bytes(of: path)
            content[Int.random(in: 0..<min(content.count, 500), using: &random)] ^= 0x10
            try write(content, to: path)
            let recovery = try recorder.recover()
            let damage = try #require(recovery.damage, "seed \(seed)")
            #expect(recovery.logEnd >= (segments.last ?? 0))
            for session in recorder.sessions {
                let recovered = try #require(recovery.outcomes[session.record.session]).get()
                #expect(!recovered.isFromLog, "seed \(seed)")
                #expect(recovered.record.failures == ["\(damage)"])
            }
            // Nothing that was whole is gone.
            #expect(try recorder.samples() == before, "seed \(seed)")
        }
    }

    /// A document older than the log's first segment, from a backup for example, affects only its own session.
    @Test(arguments: 0..<8)
    func anOldDocumentKeepsNoOtherSessionFromTheLog(number: Int) throws {
        try withRecorder { recorder, _, seed in
            let comment: Comment = "seed \(seed)"
            while recorder.sessions.count < 2 { try recorder.run(20) }
            let old = recorder.sessions[0]
            let position = try #require(try old.directory.record().logPosition)
            while try WriteAheadLog.segments(in: recorder.logDirectory).first ?? 0 <= position.written {
                try recorder.run(20)
                for session in recorder.sessions { try recorder.checkpoint(session) }
            }
            for session in recorder.sessions { recorder.appender.append(session.record, of: session.number) }
            try recorder.commit()
            try recorder.writeAll()
            try recorder.crash(isPowerCut: false)
            let before = try recorder.samples()
            var record = try old.directory.record()
            record.logPosition = position
            try old.directory.write(record)
            let recovery = try recorder.recover()
            let damage = try #require(recovery.damage, comment)
            for session in recorder.sessions {
                let recovered = try #require(recovery.outcomes[session.record.session], comment).get()
                #expect(recovered.isFromLog == (session !== old), comment)
                #expect(recovered.record.failures == (session === old ? ["\(damage)"] : []), comment)
                for stream in session.streams where session !== old {
                    let log = recovered.record.logs.first { $0.name == stream.name }
                    #expect(log?.counts == stream.state.counts, comment)
                }
            }
            #expect(try recorder.samples() == before, comment)
        }
    }

    /// A disk that refuses the log may accept the files: their contents are kept, and they continue at their ends.
    @Test(arguments: 0..<24)
    func aLogThatEndsBeforeTheFilesLeavesWhatTheyHave(number: Int) throws {
        try withRecorder { recorder, _, seed in
            let comment: Comment = "seed \(seed)"
            try recorder.run(100)
            try recorder.commit()
            for session in recorder.sessions { try recorder.run(20, only: session) }
            recorder.refuse()
            try recorder.writeAll()
            let before = try recorder.samples()
            try recorder.crash(isPowerCut: false)
            let recovery = try recorder.recover()
            for session in recorder.sessions {
                let recovered = try #require(recovery.outcomes[session.record.session], comment).get()
                let directory = session.directory.directory
                for log in recovered.record.logs {
                    let name = log.name.fileName(recovered.record.format(of: log))
                    let length = directory.contains(name) ? try bytes(of: directory.path.appending(name)).count : nil
                    #expect(recovered.logs[log.name]?.file?.bytes == length, comment)
                    #expect(log.files.allSatisfy { directory.contains($0.name) }, comment)
                }
            }
            #expect(try recorder.samples() == before, comment)
        }
    }

    /// The log's records of other streams reach their files, even if it lacks records of one stream.
    @Test(arguments: 0..<12)
    func aLogThatDoesNotContinueAFileSaysWhatOthersHave(number: Int) throws {
        try withRecorder { recorder, _, seed in
            let comment: Comment = "seed \(seed)"
            try recorder.run(100)
            try recorder.commit()
            let streams = recorder.sessions.flatMap(\.streams).filter { $0.state.open != nil }
            guard let first = streams.first else { return }
            let known = first.state.counts.written
            first.add(5)
            recorder.refuse()
            for stream in streams { stream.add(7) }
            try recorder.commit()
            try recorder.crash(isPowerCut: false)
            let recovery = try recorder.recover()
            #expect(recovery.damage == nil, comment)
            for session in recorder.sessions {
                let recovered = try #require(recovery.outcomes[session.record.session], comment).get()
                let isConcerned = session.streams.contains { $0 === first }
                #expect(recovered.record.failures.count == (isConcerned ? 1 : 0), comment)
                for stream in session.streams {
                    let log = recovered.record.logs.first { $0.name == stream.name }
                    let written = stream === first ? known : stream.state.counts.written
                    #expect(log?.counts.written == written, comment)
                }
            }
        }
    }
}

extension ScriptedRecorder {
    /// The number of samples in the files of each stream.
    fileprivate func samples() throws -> [String: Int] {
        var samples: [String: Int] = [:]
        for session in sessions {
            let directory = session.directory.directory
            for stream in session.streams {
                let names = try directory.names().filter { name in
                    name == stream.fileName || FinishedName(name, of: stream.name) != nil
                }
                samples["\(session.record.session)/\(stream.name)"] = try names.reduce(0) { count, name in
                    try count
                        + records(of: directory.path.appending(name), stream.format, stream.root)
                        .count { $0.marker == nil }
                }
            }
        }
        return samples
    }

    /// Restores earlier contents of the sessions' files.
    fileprivate func restore(_ contents: [String: [UInt8]]) throws {
        let now = try self.contents()
        let recordings = SessionDirectory.recordings(in: data).path
        for name in now.keys where contents[name] == nil { try Directory.removeFile(recordings.appending(name)) }
        for (name, content) in contents where now[name] != content {
            try RecordingTests.write(content, to: recordings.appending(name))
        }
    }

    /// Writes a session's waiting records.
    fileprivate func write(_ session: Session) throws {
        for file in streamFiles(of: session) { try file.write() }
    }

    /// Applies all blocks and writes all files.
    fileprivate func writeAll() throws {
        try apply()
        for session in sessions { try write(session) }
    }
}
