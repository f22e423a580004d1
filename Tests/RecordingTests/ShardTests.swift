import Files
import FoundationEssentials
import Glibc
import Recording
import SystemPackage
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ShardTests {
    @Test func aShardIsAPartOfAWhole() throws {
        let shard = try #require(Shard(rawValue: "2/3"))
        #expect(shard.number == 2 && shard.count == 3)
        #expect(shard.description == "2/3")
        for text in ["", "2", "0/3", "4/3", "2/0", "-1/3", "2/-3", "+2/3", "02/3", "2/3/4", "2 / 3", "a/b", "1/1001"] {
            #expect(Shard(rawValue: text) == nil, "\(text)")
        }
        #expect(try JSONDecoder().decode([Shard].self, from: Data(#"["2/3"]"#.utf8)) == [shard])
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([Shard].self, from: Data(#"["5/3"]"#.utf8)) }
    }

    /// From the hashes that the algorithm's authors give: cbf29ce484222325, af63dc4c8601ec8c and 85944171f73967e8.
    @Test func theHashIsFNV1a() {
        #expect(Shard(of: "", count: 1_000).number == 38)
        #expect(Shard(of: "a", count: 1_000).number == 997)
        #expect(Shard(of: "foobar", count: 1_000).number == 969)
    }

    @Test func eachDeviceHasOneShard() {
        for count in 1...7 {
            var devices = [Int](repeating: 0, count: count)
            for number in 0..<700 {
                let device = "device-\(number)"
                let owners = (1...count).filter { Shard(rawValue: "\($0)/\(count)")?.owns(device) == true }
                #expect(owners == [Shard(of: device, count: count).number])
                devices[owners[0] - 1] += 1
            }
            // The parts have similar sizes.
            #expect(devices.allSatisfy { $0 > 350 / count && $0 < 1_400 / count }, "\(devices)")
        }
    }

    @Test func recordersOfDifferentShardsGoTogether() throws {
        try withTemporaryDirectory { data in
            let first = try DataLock.acquire(in: data.path, shard: Shard(rawValue: "1/3"))
            let second = try DataLock.acquire(in: data.path, shard: Shard(rawValue: "2/3"))
            let same = try #require(throws: RecordingError.self) {
                try DataLock.acquire(in: data.path, shard: Shard(rawValue: "2/3"))
            }
            #expect(same.code == .locked)
            #expect(
                same.description
                    == "Could not use data directory \(data.path): a recorder with shard 2/3 uses it (process \(getpid())). "
                    + "Stop that recorder, or choose another data directory.")
            let alone = try #require(throws: RecordingError.self) { try DataLock.acquire(in: data.path) }
            #expect(alone.code == .locked)
            #expect(
                alone.description == "Could not use data directory \(data.path): a recorder uses it. "
                    + "Stop that recorder, or choose another data directory.")
            withExtendedLifetime((first, second)) {}
        }
    }

    @Test func aRecorderWithoutAShardHasAllOfIt() throws {
        try withTemporaryDirectory { data in
            for _ in 0..<3 {
                do {
                    let alone = try DataLock.acquire(in: data.path)
                    let error = try #require(throws: RecordingError.self) {
                        try DataLock.acquire(in: data.path, shard: Shard(rawValue: "1/2"))
                    }
                    #expect(error.code == .locked)
                    #expect(error.description.contains("a recorder without a shard uses it (process \(getpid()))"))
                    withExtendedLifetime(alone) {}
                }
                let shared = try DataLock.acquire(in: data.path, shard: Shard(rawValue: "1/2"))
                #expect(throws: RecordingError.self) { try DataLock.acquire(in: data.path) }
                withExtendedLifetime(shared) {}
            }
        }
    }

    @Test func anotherProgramHasALockOfItsOwn() throws {
        try withTemporaryDirectory { data in
            let recorder = try DataLock.acquire(in: data.path)
            let lock = try DataLock.acquire(in: data.path, directory: "catalog", for: "log-manager")
            let error = try #require(throws: RecordingError.self) {
                try DataLock.acquire(in: data.path, directory: "catalog", for: "log-manager")
            }
            #expect(error.code == .locked)
            #expect(
                error.description
                    == "Could not use data directory \(data.path): a log-manager uses it (process \(getpid())). "
                    + "Stop that log-manager, or choose another data directory.")
            #expect(try text(of: data.path.appending("catalog/.lock")) == "\(getpid())\n")
            withExtendedLifetime((recorder, lock)) {}
        }
    }

    @Test func eachShardHasAReserve() throws {
        try withTemporaryDirectory { data in
            let recordings = SessionDirectory.recordings(in: data.path)
            let one = DiskReserve(in: recordings, shard: Shard(rawValue: "1/2"), bytes: 10_000)
            let two = DiskReserve(in: recordings, shard: Shard(rawValue: "2/2"), bytes: 10_000)
            try one.restore()
            #expect(one.exists && !two.exists)
            try two.restore()
            try one.release()
            #expect(!one.exists && two.exists)
        }
    }
}
