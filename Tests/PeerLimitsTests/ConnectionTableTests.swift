import Testing
import ZeroMQ

@testable import PeerLimits

/// Which connections are closed, decided from numbers alone.
struct ConnectionTableTests {
    private static let mebibyte = 1 << 20

    /// A table and its clock.
    private struct Driver {
        var table: ConnectionTable
        var now: Int64 = 0

        init(_ pattern: GuardedSocket.Pattern, _ limits: PeerLimits? = nil) {
            let limits = limits ?? (pattern == .publish ? .publishing : pattern == .reply ? .replying : PeerLimits())
            table = ConnectionTable(pattern: pattern, limits: limits)
        }

        mutating func open(_ descriptor: Int32, isIncoming: Bool = true, endpoint: String = "") {
            table.open(descriptor, isIncoming: isIncoming, endpoint: endpoint, at: now)
        }

        mutating func close(_ descriptor: Int32) { table.close(descriptor, at: now) }

        mutating func excess(_ received: Int = 1_000) -> Int32? { table.excess(at: now) { _ in received } }

        mutating func hasNews(_ readings: [Int32: ConnectionHandle.Reading]) -> Bool {
            table.hasNews(in: readings)
        }

        /// Evaluates the table after a time.
        mutating func judge(
            _ received: [Int32: Int], _ traffic: SocketTraffic = SocketTraffic(), after milliseconds: Int64 = 50
        ) -> [Int32: ConnectionIncident.Reason] {
            judge(readings: received.mapValues(reading), traffic, after: milliseconds)
        }

        mutating func judge(
            readings: [Int32: ConnectionHandle.Reading], _ traffic: SocketTraffic, after milliseconds: Int64 = 50
        ) -> [Int32: ConnectionIncident.Reason] {
            now += milliseconds * 1_000_000
            return table.judge(readings, traffic: traffic, at: now)
        }
    }

    // MARK: Unfinished messages

    @Test func anEndlessMessageIsCut() {
        var driver = Driver(.subscribe)
        driver.open(5, isIncoming: false)
        var cut: [Int32: ConnectionIncident.Reason] = [:]
        var received = 0
        while cut.isEmpty, received < 1 << 30 {
            received += Self.mebibyte
            cut = driver.judge([5: received], drained())
        }
        #expect(cut == [5: .unfinishedMessage])
        #expect(received == PeerLimits().unfinishedBytes + Self.mebibyte)
        // The connection is closed once, and no longer counted.
        #expect(driver.judge([5: received], drained()).isEmpty)
    }

    @Test func aReaderThatIsBehindCutsNobody() {
        var driver = Driver(.subscribe)
        driver.open(5, isIncoming: false)
        // Forty megabytes of whole messages wait, and a few are taken at a time.
        for step in 1...1_000 { #expect(driver.judge([5: step * 41_000], taken([5: 1_000])).isEmpty) }
        // Nor if the owner hangs and takes none.
        for _ in 1...1_000 { #expect(driver.judge([5: 41_000_000]).isEmpty) }
        // Finally everything is taken.
        #expect(driver.judge([5: 41_000_000], drained(taken([5: 1]))).isEmpty)
        #expect(driver.judge([5: 41_000_000], drained()).isEmpty)
    }

    @Test func anEndlessMessageBesideAReaderThatIsBehindIsCut() {
        var driver = Driver(.subscribe)
        driver.open(5, isIncoming: false)
        driver.open(6, isIncoming: false)
        var cuts: [ConnectionIncident.Reason?] = []
        for step in 1...100 {
            var taken = SocketTraffic()
            for _ in 0..<100 { taken.take(bytes: Self.mebibyte / 10, from: 5) }
            let cut = driver.judge([5: step * 10 * Self.mebibyte, 6: step * Self.mebibyte], taken)
            #expect(cut[5] == nil)
            cuts.append(cut[6])
        }
        #expect(cuts.compactMap { $0 } == [.unfinishedMessage])
    }

    @Test(arguments: [GuardedSocket.Pattern.publish, .subscribe, .reply, .request])
    func heartbeatsOfHoursCutNobody(pattern: GuardedSocket.Pattern) {
        var driver = Driver(pattern)
        driver.open(5)
        // Ten per second, encrypted.
        for second in 1...10_000 { #expect(driver.judge([5: second * 450], drained(), after: 1_000).isEmpty) }
    }

    @Test func requestsThatNobodyTakesFastEnoughAreCut() {
        var driver = Driver(.reply)
        driver.open(5)
        driver.open(6)
        for step in 1...20 {
            let cut = driver.judge([5: step * 300, 6: step * 2_000_000], taken([5: 300, 6: 1_000_042]))
            #expect(cut[5] == nil)
            if step == 1 { #expect(cut.isEmpty) }
            if step == 2 { #expect(cut == [6: .unfinishedMessage]) }
        }
    }

    @Test func whatEndedConnectionsLeftKeepsNewcomersOutUntilItIsTaken() {
        var driver = Driver(.reply)
        for descriptor in Int32(1)...3 {
            driver.open(descriptor)
            #expect(driver.judge([descriptor: 1_000_000]).isEmpty)
            driver.close(descriptor)
        }
        #expect(!driver.table.isEmpty)
        driver.open(4)
        #expect(driver.excess(0) == 4)
        _ = driver.judge([:], drained())
        driver.open(5)
        #expect(driver.excess(0) == nil)
    }

    // MARK: Events that wait

    @Test func moreThanFitsInMemoryDoesNotWait() {
        let endpoint = "tcp://127.0.0.1:5550"
        var driver = Driver(.subscribe)
        driver.open(4, isIncoming: false, endpoint: "tcp://127.0.0.1:5551")
        driver.open(5, isIncoming: false, endpoint: endpoint)
        var received = 0
        var cut: [Int32: ConnectionIncident.Reason] = [:]
        while cut.isEmpty, received < 1 << 30 {
            received += Self.mebibyte
            cut = driver.judge([4: received / 10, 5: received], taken([4: 1_000, 5: 1_000]))
        }
        #expect(cut == [5: .backlog])
        #expect(received == PeerLimits().waitingBytes + Self.mebibyte)
        // Its untaken bytes count for the next connection until they are taken.
        driver.close(5)
        driver.open(6, isIncoming: false, endpoint: endpoint)
        #expect(driver.judge([6: Self.mebibyte], taken([6: 1_000])) == [6: .backlog])
        driver.close(6)
        driver.open(6, isIncoming: false, endpoint: endpoint)
        #expect(driver.judge([6: Self.mebibyte], drained(taken([6: Self.mebibyte]))).isEmpty)
        #expect(driver.judge([6: 9 * Self.mebibyte], taken([6: 1])).isEmpty)
    }

    // MARK: Subscriptions

    @Test func manySubscriptionsAreCutAndAThousandTopicsAreNot() {
        var driver = Driver(.publish)
        for subscriber in Int32(0)..<30 { driver.open(subscriber) }
        let topics = Dictionary(uniqueKeysWithValues: (Int32(0)..<30).map { ($0, 45_000) })
        #expect(driver.judge(topics).isEmpty)
        #expect(driver.judge(topics.merging([7: 1_100_000]) { $1 }) == [7: .tooManySubscriptions])
    }

    @Test func ofManyThatEachSendALittleTheGreediestIsCut() {
        var driver = Driver(.publish)
        for subscriber in Int32(1)...20 { driver.open(subscriber) }
        let sent = Dictionary(uniqueKeysWithValues: (Int32(1)...20).map { ($0, $0 > 10 ? 200_000 + Int($0) : 40_000) })
        // The remaining ones have one and a half mebibytes together.
        #expect(Set(driver.judge(sent).keys) == [16, 17, 18, 19, 20])
    }

    @Test func aFloodOfSubscriptionsKeepsNewcomersOutForHalfASecond() {
        var driver = Driver(.publish)
        for descriptor in Int32(1)...9 { driver.open(descriptor) }
        let flood = Dictionary(uniqueKeysWithValues: (Int32(1)...9).map { ($0, 500_000) })
        #expect(driver.judge(flood).count == 9)
        for descriptor in Int32(1)...9 { driver.close(descriptor) }
        #expect(driver.table.isFull && !driver.table.isEmpty)
        // Time counts only once libzmq has taken in everything.
        #expect(driver.judge([:], after: 60_000).isEmpty)
        #expect(driver.table.isFull)
        #expect(driver.judge([:], drained(), after: 490).isEmpty)
        driver.open(10)
        #expect(driver.table.isFull && driver.excess() == 10)
        driver.close(10)
        #expect(driver.judge([:], drained(), after: 20).isEmpty)
        driver.open(11)
        #expect(!driver.table.isFull && driver.excess() == nil)
        driver.close(11)
        #expect(driver.judge([:], drained(), after: 1_000).isEmpty)
        let isQuiet = !driver.hasNews([:])
        #expect(isQuiet && driver.table.isEmpty)
    }

    @Test func whatWasForgottenLongAgoDoesNotCountForAFloodOfToday() {
        var driver = Driver(.publish)
        driver.now = 3_600_000_000_000
        driver.open(1)
        #expect(driver.judge([1: 500_000]).count == 1)
        driver.close(1)
        #expect(driver.judge([:], drained(), after: 5).isEmpty)
        #expect(driver.table.isFull)
    }

    // MARK: Replies

    @Test func repliesThatNobodyReadsAreCut() {
        var driver = Driver(.reply)
        driver.open(5)
        driver.open(6)
        let readings: [Int32: ConnectionHandle.Reading] = [
            5: .init(received: 1_000, acknowledged: 39 << 20, isAllSent: false),
            6: .init(received: 1_000, acknowledged: 2 << 20, isAllSent: false),
        ]
        #expect(driver.judge(readings: readings, drained(sent([5: 40 << 20, 6: 40 << 20]))) == [6: .unreadReplies])
    }

    @Test func whatWasSentToAnotherIsNotHeldAgainstAPeerThatHasReadAll() {
        var driver = Driver(.reply)
        driver.open(5)
        for _ in 0..<20 {
            // Replies to a closed connection, counted for the one that now has its descriptor.
            let reading = ConnectionHandle.Reading(received: 1_000, acknowledged: 5_000, isAllSent: true)
            #expect(driver.judge(readings: [5: reading], drained(sent([5: 4 << 20]))).isEmpty)
        }
    }

    // MARK: Connections

    @Test func theNewestOfTooManyIsCutAndTheSilentFirst() {
        var limits = PeerLimits()
        limits.maximumConnections = 3
        var driver = Driver(.publish, limits)
        var spoken: [Int32: Int] = [1: 100, 2: 64, 3: 100]
        for descriptor in Int32(1)...3 {
            driver.open(descriptor)
            #expect(driver.table.excess(at: 0) { spoken[$0] } == nil)
        }
        driver.open(4)
        #expect(driver.table.excess(at: 0) { spoken[$0] } == 2)
        #expect(driver.table.excess(at: 0) { spoken[$0] } == nil)
        // When the next one connects, the fourth has sent data.
        spoken[4] = 100
        spoken[5] = 100
        driver.open(5)
        #expect(driver.table.excess(at: 0) { spoken[$0] } == 5)
        #expect(driver.table.excess(at: 0) { spoken[$0] } == nil)
        // A closed connection makes room.
        for descriptor in [Int32(2), 5, 1] { driver.close(descriptor) }
        driver.open(6)
        #expect(driver.table.excess(at: 0) { spoken[$0] } == nil)
    }

    @Test func strangersDoNotCrowdOutClientsWithKeys() {
        var limits = PeerLimits()
        limits.maximumConnections = 3
        limits.strangersTime = 2
        var driver = Driver(.reply, limits)
        for descriptor in Int32(1)...3 {
            driver.open(descriptor)
            #expect(driver.excess() == nil)
        }
        // By now these have proved their keys: unauthenticated peers have separate places.
        driver.now = 10
        for descriptor in Int32(4)...6 {
            driver.open(descriptor)
            #expect(driver.excess() == nil)
        }
        driver.open(7)
        #expect(driver.excess() == 7)
        driver.close(7)
        // Peers with keys are limited too.
        driver.now = 20
        driver.open(8)
        var cut: [Int32?] = []
        for _ in 0..<4 { cut.append(driver.excess()) }
        #expect(cut == [6, 5, 4, nil])
    }

    @Test func connectionsThatWeMadeAreNotLimited() {
        var limits = PeerLimits()
        limits.maximumConnections = 1
        var driver = Driver(.subscribe, limits)
        for descriptor in Int32(1)...9 {
            driver.open(descriptor, isIncoming: false)
            #expect(driver.excess(0) == nil)
        }
    }

    // MARK: Quiet

    @Test func thereIsNothingToJudgeIfNothingCameOrWaits() {
        var driver = Driver(.reply)
        driver.open(5)
        var quiet = [Int32(5): reading(1_000)]
        var hadNews = [driver.hasNews(quiet), driver.hasNews(quiet)]
        #expect(hadNews == [true, false])
        // A reply that the peer has not read yet.
        quiet[5]?.isAllSent = false
        hadNews = [driver.hasNews(quiet), driver.hasNews(quiet)]
        #expect(hadNews == [true, true])
        // A request under way.
        let long = [Int32(5): reading(500_000)]
        #expect(driver.judge([5: 500_000], drained()).isEmpty)
        hadNews = [driver.hasNews(long), driver.hasNews(long)]
        #expect(hadNews == [true, true])
        // The socket's owner has taken the request.
        #expect(driver.judge([5: 500_000], drained(taken([5: 500_000]))).isEmpty)
        let isQuiet = !driver.hasNews(long)
        #expect(isQuiet)
    }
}

private func reading(_ received: Int) -> ConnectionHandle.Reading {
    .init(received: received, acknowledged: 0, isAllSent: true)
}

private func taken(_ bytes: [Int32: Int]) -> SocketTraffic {
    var traffic = SocketTraffic()
    for (descriptor, bytes) in bytes { traffic.take(bytes: bytes, from: descriptor) }
    return traffic
}

private func sent(_ bytes: [Int32: Int]) -> SocketTraffic {
    var traffic = SocketTraffic()
    for (descriptor, bytes) in bytes { traffic.send(bytes: bytes, to: descriptor) }
    return traffic
}

private func drained(_ traffic: SocketTraffic = SocketTraffic()) -> SocketTraffic {
    var traffic = traffic
    traffic.isDrained = true
    return traffic
}
