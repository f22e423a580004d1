import Testing

@testable import ZeroMQ

/// Which connections are cut, from numbers alone.
struct ConnectionTableTests {
    private static let mebibyte = 1 << 20
    private static let look = 50_000_000

    @Test func anEndlessMessageIsCut() {
        var table = table(.subscribe)
        table.open(5, isIncoming: false)
        var cut: [Int32: ConnectionIncident.Reason] = [:]
        var received = 0
        while cut.isEmpty, received < 1 << 30 {
            received += Self.mebibyte
            cut = table.judge([5: reading(received)], use: drained(), memory: 0, nanoseconds: Self.look)
        }
        #expect(cut == [5: .unfinishedMessage])
        #expect(received == ConnectionLimits().unfinishedBytes + Self.mebibyte)
        // It is cut once, and not counted any more.
        #expect(table.judge([5: reading(received)], use: drained(), memory: 0, nanoseconds: Self.look).isEmpty)
    }

    @Test func aReaderThatIsBehindCutsNobody() {
        var table = table(.subscribe)
        table.open(5, isIncoming: false)
        // Forty megabytes of whole messages wait, of which a few are taken at a time.
        for step in 1...1_000 {
            let cut = table.judge(
                [5: reading(step * 41_000)], use: use([5: 1_000]), memory: step * Self.mebibyte,
                nanoseconds: Self.look)
            #expect(cut.isEmpty)
        }
        // Nor where it hangs and takes none.
        let last = [Int32(5): reading(41_000_000)]
        for step in 1...1_000 {
            let cut = table.judge(
                last, use: SocketTraffic(), memory: step * Self.mebibyte, nanoseconds: Self.look)
            #expect(cut.isEmpty)
        }
        // In the end all is taken.
        #expect(table.judge(last, use: drained(use([5: 1])), memory: 0, nanoseconds: Self.look).isEmpty)
        #expect(table.judge(last, use: drained(), memory: 0, nanoseconds: Self.look).isEmpty)
    }

    @Test func moreThanFitsInMemoryDoesNotWait() {
        let endpoint = "tcp://127.0.0.1:5550"
        var table = table(.subscribe)
        table.open(4, isIncoming: false, endpoint: "tcp://127.0.0.1:5551")
        table.open(5, isIncoming: false, endpoint: endpoint)
        var received = 0
        var cut: [Int32: ConnectionIncident.Reason] = [:]
        while cut.isEmpty, received < 1 << 30 {
            received += Self.mebibyte
            cut = table.judge(
                [4: reading(received / 10), 5: reading(received)], use: use([4: 1_000, 5: 1_000]), memory: 0,
                nanoseconds: Self.look)
        }
        #expect(cut == [5: .backlog])
        #expect(received == ConnectionLimits().waitingBytes + Self.mebibyte)
        // What it left counts for the connection that follows, until it is taken.
        table.close(5)
        table.open(6, isIncoming: false, endpoint: endpoint)
        #expect(
            table.judge([6: reading(Self.mebibyte)], use: use([6: 1_000]), memory: 0, nanoseconds: Self.look)
                == [6: .backlog])
        table.close(6)
        table.open(6, isIncoming: false, endpoint: endpoint)
        let drained = drained(use([6: Self.mebibyte]))
        #expect(table.judge([6: reading(Self.mebibyte)], use: drained, memory: 0, nanoseconds: Self.look).isEmpty)
        #expect(
            table.judge([6: reading(9 * Self.mebibyte)], use: use([6: 1]), memory: 0, nanoseconds: Self.look).isEmpty)
    }

    @Test func anEndlessMessageBesideAReaderThatIsBehindIsCut() {
        var table = table(.subscribe)
        table.open(5, isIncoming: false)
        table.open(6, isIncoming: false)
        var cuts: [ConnectionIncident.Reason?] = []
        for step in 1...100 {
            var taken = SocketTraffic()
            for _ in 0..<100 { taken.take(bytes: Self.mebibyte / 10, from: 5) }
            let cut = table.judge(
                [5: reading(step * 10 * Self.mebibyte), 6: reading(step * Self.mebibyte)], use: taken, memory: 0,
                nanoseconds: Self.look)
            #expect(cut[5] == nil)
            cuts.append(cut[6])
        }
        #expect(cuts.compactMap { $0 } == [.unfinishedMessage])
    }

    @Test func heartbeatsOfWeeksCutNobody() {
        for pattern in [ConnectionTable.Pattern.publish, .subscribe, .reply, .request] {
            var table = table(pattern, pattern == .publish ? .publishing : pattern == .reply ? .replying : .init())
            table.open(5, isIncoming: true)
            // Ten a second, encrypted.
            for second in 1...10_000 {
                let cut = table.judge(
                    [5: reading(second * 450)], use: drained(), memory: 0, nanoseconds: 1_000_000_000)
                #expect(cut.isEmpty)
            }
        }
    }

    @Test func manySubscriptionsAreCutAndAThousandTopicsAreNot() {
        var table = table(.publish, .publishing)
        for subscriber in Int32(0)..<30 { table.open(subscriber, isIncoming: true) }
        let topics = Dictionary(uniqueKeysWithValues: (Int32(0)..<30).map { ($0, reading(45_000)) })
        #expect(table.judge(topics, use: SocketTraffic(), memory: 0, nanoseconds: Self.look).isEmpty)
        let flood = topics.merging([7: reading(1_100_000)]) { $1 }
        let cut = table.judge(flood, use: SocketTraffic(), memory: 0, nanoseconds: Self.look)
        #expect(cut == [7: .tooManySubscriptions])
    }

    @Test func ofManyWhoEachSendALittleTheGreediestIsCut() {
        var table = table(.publish, .publishing)
        for subscriber in Int32(1)...20 { table.open(subscriber, isIncoming: true) }
        let readings = Dictionary(
            uniqueKeysWithValues: (Int32(1)...20).map { ($0, reading($0 > 10 ? 200_000 + Int($0) : 40_000)) })
        let cut = table.judge(readings, use: SocketTraffic(), memory: 0, nanoseconds: Self.look)
        // Those left have a mebibyte and a half together.
        #expect(Set(cut.keys) == [16, 17, 18, 19, 20])
    }

    @Test func framesThatTakeMoreMemoryThanTheyAreLongAreCutEarly() {
        var table = table(.subscribe)
        table.open(5, isIncoming: false)
        #expect(table.judge([5: reading(100)], use: drained(), memory: 30 << 20, nanoseconds: Self.look).isEmpty)
        // A long frame takes its length…
        let long = table.judge([5: reading(20 << 20)], use: drained(), memory: 52 << 20, nanoseconds: Self.look)
        #expect(long.isEmpty)
        // …and empty ones much more.
        let empty = table.judge([5: reading(21 << 20)], use: drained(), memory: 90 << 20, nanoseconds: Self.look)
        #expect(empty == [5: .unfinishedMessage])
    }

    @Test func thereIsNothingToJudgeWhereNothingCameOrWaits() {
        var table = table(.reply, .replying)
        table.open(5, isIncoming: true)
        var quiet = [Int32(5): reading(1_000)]
        var hadNews = [table.hasNews(in: quiet), table.hasNews(in: quiet)]
        #expect(hadNews == [true, false])
        // A reply that the peer has not read yet.
        quiet[5]?.isAllSent = false
        hadNews = [table.hasNews(in: quiet), table.hasNews(in: quiet)]
        #expect(hadNews == [true, true])
        // A request under way.
        let long = [Int32(5): reading(500_000)]
        #expect(table.judge(long, use: drained(), memory: 0, nanoseconds: Self.look).isEmpty)
        hadNews = [table.hasNews(in: long), table.hasNews(in: long)]
        #expect(hadNews == [true, true])
        // Its owner has taken it.
        #expect(table.judge(long, use: drained(use([5: 500_000])), memory: 0, nanoseconds: Self.look).isEmpty)
        let isQuiet = !table.hasNews(in: long)
        #expect(isQuiet)
    }

    @Test func whatTheProgramGrewWhileNothingCameIsHeldAgainstNobody() {
        var table = table(.reply, .replying)
        table.open(5, isIncoming: true)
        let quiet = [Int32(5): reading(1_000)]
        #expect(table.judge(quiet, use: drained(), memory: 30 << 20, nanoseconds: Self.look).isEmpty)
        let hadNews = [table.hasNews(in: quiet), table.hasNews(in: quiet)]
        #expect(hadNews == [true, false])
        let long = [Int32(5): reading(500_000)]
        #expect(table.judge(long, use: drained(), memory: 90 << 20, nanoseconds: Self.look).isEmpty)
        // What it grows from then on is.
        let longer = [Int32(5): reading(600_000)]
        let cut = table.judge(longer, use: drained(), memory: 99 << 20, nanoseconds: Self.look)
        #expect(cut == [5: .unfinishedMessage])
    }

    @Test func requestsThatNobodyTakesFastEnoughAreCut() {
        var table = table(.reply, .replying)
        table.open(5, isIncoming: true)
        table.open(6, isIncoming: true)
        for step in 1...20 {
            var taken = SocketTraffic()
            taken.take(bytes: 300, from: 5)
            taken.take(bytes: 1_000_042, from: 6)
            let cut = table.judge(
                [5: reading(step * 300), 6: reading(step * 2_000_000)], use: taken, memory: 0, nanoseconds: Self.look)
            #expect(cut[5] == nil)
            if step == 1 { #expect(cut.isEmpty) }
            if step == 2 { #expect(cut == [6: .unfinishedMessage]) }
        }
    }

    @Test func repliesThatNobodyReadsAreCut() {
        var table = table(.reply, .replying)
        table.open(5, isIncoming: true)
        table.open(6, isIncoming: true)
        var sent = SocketTraffic()
        sent.send(bytes: 40 << 20, to: 5)
        sent.send(bytes: 40 << 20, to: 6)
        let readings: [Int32: ConnectionHandle.Reading] = [
            5: .init(received: 1_000, acknowledged: 39 << 20, isAllSent: false),
            6: .init(received: 1_000, acknowledged: 2 << 20, isAllSent: false),
        ]
        let cut = table.judge(readings, use: drained(sent), memory: 0, nanoseconds: Self.look)
        #expect(cut == [6: .unreadReplies])
    }

    @Test func whatWasSentToSomebodyElseIsNotHeldAgainstWhoeverHasReadAll() {
        var table = table(.reply, .replying)
        table.open(5, isIncoming: true)
        for _ in 0..<20 {
            // Replies for one who has gone, counted for the one who has its descriptor now.
            var sent = SocketTraffic()
            sent.send(bytes: 4 << 20, to: 5)
            let reading = ConnectionHandle.Reading(received: 1_000, acknowledged: 5_000, isAllSent: true)
            #expect(table.judge([5: reading], use: drained(sent), memory: 0, nanoseconds: Self.look).isEmpty)
        }
    }

    @Test func theNewestOfTooManyIsCutAndTheSilentFirst() {
        var limits = ConnectionLimits()
        limits.maximumConnections = 3
        var table = table(.publish, limits)
        var spoken: [Int32: Int] = [1: 100, 2: 64, 3: 100]
        for descriptor in Int32(1)...3 {
            table.open(descriptor, isIncoming: true)
            #expect(table.surplus { spoken[$0] } == nil)
        }
        table.open(4, isIncoming: true)
        #expect(table.surplus { spoken[$0] } == 2)
        #expect(table.surplus { spoken[$0] } == nil)
        // By the time of the next one the fourth has spoken.
        spoken[4] = 100
        spoken[5] = 100
        table.open(5, isIncoming: true)
        #expect(table.surplus { spoken[$0] } == 5)
        #expect(table.surplus { spoken[$0] } == nil)
        // Who leaves makes room.
        for descriptor in [Int32(2), 5, 1] { table.close(descriptor) }
        table.open(6, isIncoming: true)
        #expect(table.surplus { spoken[$0] } == nil)
    }

    @Test func strangersDoNotCrowdOutThoseWhoHaveKeys() {
        var limits = ConnectionLimits()
        limits.maximumConnections = 3
        limits.strangersTime = 2
        var table = table(.reply, limits)
        for descriptor in Int32(1)...3 {
            table.open(descriptor, isIncoming: true)
            #expect(table.surplus { _ in 1_000 } == nil)
        }
        // By now these have shown their keys: strangers have places of their own.
        for descriptor in Int32(4)...6 {
            table.open(descriptor, isIncoming: true, at: 10)
            #expect(table.surplus(at: 10) { _ in 1_000 } == nil)
        }
        table.open(7, isIncoming: true, at: 10)
        #expect(table.surplus(at: 10) { _ in 1_000 } == 7)
        table.close(7)
        // Those with keys are limited too.
        table.open(8, isIncoming: true, at: 20)
        var cut: [Int32?] = []
        for _ in 0..<4 { cut.append(table.surplus(at: 20) { _ in 1_000 }) }
        #expect(cut == [6, 5, 4, nil])
    }

    @Test func connectionsThatWeMadeAreNotLimited() {
        var limits = ConnectionLimits()
        limits.maximumConnections = 1
        var table = table(.subscribe, limits)
        for descriptor in Int32(1)...9 {
            table.open(descriptor, isIncoming: false)
            #expect(table.surplus { _ in 0 } == nil)
        }
    }

    @Test func whatThoseLeftWhoHaveGoneKeepsOthersOutUntilItIsTaken() {
        var table = table(.reply, .replying)
        for descriptor in Int32(1)...3 {
            table.open(descriptor, isIncoming: true)
            let readings = [descriptor: reading(1_000_000)]
            #expect(table.judge(readings, use: SocketTraffic(), memory: 0, nanoseconds: Self.look).isEmpty)
            table.close(descriptor)
        }
        #expect(!table.isEmpty)
        table.open(4, isIncoming: true)
        #expect(table.surplus { _ in 0 } == 4)
        _ = table.judge([:], use: drained(), memory: 0, nanoseconds: Self.look)
        table.open(5, isIncoming: true)
        #expect(table.surplus { _ in 0 } == nil)
    }

    @Test func subscriptionsOfThoseWhoHaveGoneKeepOthersOutUntilTheyAreTakenIn() {
        var table = table(.publish, .publishing)
        table.open(1, isIncoming: true)
        let cut = table.judge([1: reading(300_000)], use: SocketTraffic(), memory: 0, nanoseconds: Self.look)
        #expect(cut.isEmpty)
        table.close(1)
        #expect((290_000...300_000).contains(table.unsettled))
        table.open(2, isIncoming: true)
        #expect(table.surplus { _ in 1_000 } == 2)
        table.settle(table.unsettled)
        #expect(table.unsettled == 0)
        table.open(3, isIncoming: true)
        #expect(table.surplus { _ in 1_000 } == nil)
    }

    private func table(_ pattern: ConnectionTable.Pattern, _ limits: ConnectionLimits = .init()) -> ConnectionTable {
        ConnectionTable(pattern: pattern, limits: limits)
    }

    private func reading(_ received: Int) -> ConnectionHandle.Reading {
        .init(received: received, acknowledged: 0, isAllSent: true)
    }

    private func use(_ taken: [Int32: Int]) -> SocketTraffic {
        var use = SocketTraffic()
        for (descriptor, bytes) in taken { use.take(bytes: bytes, from: descriptor) }
        return use
    }

    private func drained(_ use: SocketTraffic = SocketTraffic()) -> SocketTraffic {
        var use = use
        use.isDrained = true
        return use
    }
}
