import MessageBus
import Messages
import Testing

/// Which samples are taken, held back, requested and given up.
@Suite(.timeLimit(.minutes(1)))
struct ReorderBufferTests {
    @Test func batchesInOrderAreTaken() {
        let model = IntakeModel()
        model.arrive("a", 0..<3)
        model.arrive("a", 3..<4)
        #expect(model.taken == ["a": [0, 1, 2, 3]])
        #expect(model.intake.next(of: "a") == 4)
        #expect(model.intake.isComplete)
    }

    @Test func whatWasHadIsNotTakenAgain() {
        let model = IntakeModel()
        model.arrive("a", 0..<4)
        #expect(model.admit("a", 1..<4) == .duplicate)
        #expect(model.admit("a", 2..<6) == .take(2..<4))
    }

    @Test func aSessionBeginsWhereTheStreamStands() {
        let model = IntakeModel()
        model.start("a", at: 100)
        model.arrive("a", 95..<100)
        model.arrive("a", 98..<103)
        #expect(model.taken == ["a": [100, 101, 102]])
    }

    @Test func aNewEpochIsExpectedFromItsFirstSample() {
        let model = IntakeModel()
        model.start("a", at: 100)
        model.arrive("b", 5..<7)
        #expect(model.missing == 0..<5)
        model.bring("b", 0..<5)
        #expect(model.taken == ["b": Array(0..<7)])
    }

    @Test func laterBatchesWaitForTheMissingOnes() {
        let model = IntakeModel()
        model.arrive("a", 0..<2)
        #expect(model.admit("a", 5..<7) == .gap)
        model.arrive("a", 5..<7)
        model.arrive("a", 7..<9)
        #expect(model.taken == ["a": [0, 1]])
        model.bring("a", 0..<4)
        #expect(model.missing == 4..<5)
        #expect(!model.intake.isComplete)
        model.bring("a", 4..<8)
        #expect(model.taken == ["a": Array(0..<9)])
        #expect(model.missing == nil)
    }

    @Test func aReplayOfOtherSamplesBringsNothing() {
        let model = IntakeModel()
        model.arrive("a", 0..<2)
        model.arrive("a", 5..<7)
        model.bring("b", 2..<5)
        model.bring("a", 3..<5)
        model.bring("a", 0..<2)
        #expect(model.missing == 2..<5)
        #expect(model.taken == ["a": [0, 1]])
    }

    @Test func whatCanNotBeHadIsAGapAndTheRestGoesOn() {
        let model = IntakeModel()
        model.arrive("a", 0..<2)
        model.arrive("a", 10..<12)
        model.giveUp(before: 7)
        #expect(model.lost == [Gap(epoch: "a", from: 2, count: 5, reason: .notRetained)])
        model.bring("a", 7..<10)
        #expect(model.taken == ["a": [0, 1, 7, 8, 9, 10, 11]])
    }

    @Test func aSecondGapBehindTheFirstIsAskedForNext() {
        let model = IntakeModel()
        model.arrive("a", 2..<4)
        model.arrive("a", 6..<8)
        model.bring("a", 0..<2)
        #expect(model.missing == 4..<6)
        model.bring("a", 4..<6)
        #expect(model.taken == ["a": Array(0..<8)])
    }

    @Test func whatIsNotKeptIsMissingLaterAndNotLost() {
        let model = IntakeModel(maximumHeldBytes: 150)
        model.arrive("a", 2..<4)
        model.arrive("a", 4..<6)
        model.arrive("a", 6..<8)
        model.bring("a", 0..<2)
        #expect(model.taken == ["a": Array(0..<6)])
        #expect(model.missing == 6..<8)
        model.arrive("a", 8..<10)
        model.bring("a", 6..<8)
        #expect(model.taken == ["a": Array(0..<10)])
        #expect(model.lost.isEmpty)
    }

    @Test func runsForWhichThereWasNoRoomAreAskedForBeforeALaterOne() {
        let model = IntakeModel(maximumHeldBytes: 150)
        model.arrive("a", 2..<4)
        model.arrive("b", 0..<5)
        model.arrive("c", 0..<5)
        model.arrive("d", 0..<5)
        model.bring("a", 0..<2)
        #expect(model.taken == ["a": Array(0..<4), "b": Array(0..<5)])
        #expect(model.intake.recovery?.epoch == "c")
        #expect(model.missing == 0..<5)
        // The buffer has room again.
        model.arrive("d", 5..<7)
        model.bring("c", 0..<3)
        model.giveUp()
        #expect(model.intake.recovery?.epoch == "d")
        #expect(model.missing == 0..<5)
        model.bring("d", 0..<5)
        #expect(model.order == ["a", "b", "c", "d"])
        #expect(model.taken["d"] == Array(0..<7))
        #expect(model.lost == [Gap(epoch: "c", from: 3, count: 2, reason: .notRetained)])
        #expect(model.intake.isComplete)
    }

    @Test func runsThatWaitedBeforeTheOneThatEndsAreTaken() {
        for room in [Int.max, 150] {
            let model = IntakeModel(maximumHeldBytes: room)
            model.arrive("a", 2..<4)
            model.arrive("b", 0..<3)
            model.arrive("c", 0..<3)
            model.arrive("d", 0..<3)
            model.end("d", before: 2)
            model.bring("a", 0..<2)
            model.bring("b", 0..<3)
            model.bring("c", 0..<3)
            model.bring("d", 0..<3)
            #expect(model.order == ["a", "b", "c", "d"])
            #expect(model.taken["d"] == [0, 1])
            #expect(model.intake.isComplete)
        }
    }

    /// The run began after the end of the session.
    @Test func aRunThatOnlyWaitedWhenTheEndWasSetIsNotTaken() {
        for room in [Int.max, 150] {
            let model = IntakeModel(maximumHeldBytes: room)
            model.arrive("a", 2..<4)
            model.arrive("a", 4..<6)
            model.arrive("new", 0..<3)
            model.end("a", before: 6)
            model.arrive("new", 3..<5)
            model.bring("a", 0..<2)
            #expect(model.taken["a"] == Array(0..<6))
            #expect(model.taken["new", default: []].isEmpty)
            #expect(model.intake.isComplete)
        }
    }

    @Test func whatHadNoRoomBehindTheEndIsNotAskedFor() {
        let model = IntakeModel(maximumHeldBytes: 50)
        model.arrive("a", 2..<4)
        model.arrive("a", 4..<9)
        model.end("a", before: 6)
        model.bring("a", 0..<2)
        #expect(model.missing == 4..<6)
        model.bring("a", 4..<6)
        #expect(model.intake.isComplete)
    }

    @Test func aDescriptionTellsWhatNoBatchDid() {
        let model = IntakeModel()
        model.arrive("a", 0..<2)
        #expect(!model.expect("a", upTo: 2))
        #expect(model.expect("a", upTo: 5))
        #expect(model.missing == 2..<5)
        #expect(!model.expect("a", upTo: 9))
    }

    @Test func anUnknownEndIsSearchedForBeforeALaterEpoch() {
        let model = IntakeModel()
        model.arrive("a", 0..<3)
        #expect(model.searchEnd(of: "a"))
        #expect(!model.intake.isComplete)
        #expect(model.admit("b", 0..<2) == .gap)
        model.arrive("b", 0..<2)
        #expect(model.missing == 3..<ReorderBuffer.maximumSequence && model.intake.isSearchingEnd)
        model.bring("a", 3..<5)
        #expect(model.missing?.lowerBound == 5 && model.intake.isSearchingEnd)
        model.finishSearch()
        #expect(model.taken == ["a": Array(0..<5), "b": [0, 1]])
        #expect(model.order == ["a", "b"] && model.lost.isEmpty && model.intake.isComplete)
    }

    @Test func anUnknownEndThatIsGivenUpIsAGapOfUnknownLength() {
        let model = IntakeModel()
        model.arrive("a", 0..<3)
        #expect(model.searchEnd(of: "a"))
        model.arrive("b", 0..<2)
        model.giveUp(before: 5)
        model.giveUp(.epochEnded)
        #expect(model.lost.map(\.from) == [3, 5] && model.lost.map(\.count) == [2, 0])
        #expect(model.intake.next(of: "a") == 5 && !model.intake.isSearchingEnd)
        #expect(model.taken == ["a": [0, 1, 2], "b": [0, 1]])
    }

    /// Samples of the later epoch are missing too, and are already being requested.
    @Test func anUnknownEndComesBeforeWhatALaterEpochMisses() {
        let model = IntakeModel()
        model.arrive("a", 0..<3)
        model.arrive("b", 5..<7)
        #expect(model.missing == 0..<5)
        #expect(model.searchEnd(of: "a"))
        #expect(model.missing?.lowerBound == 3 && model.intake.isSearchingEnd)
        model.bring("b", 0..<5)
        model.bring("a", 3..<4)
        model.finishSearch()
        #expect(model.missing == 0..<5)
        model.bring("b", 0..<5)
        #expect(model.taken == ["a": [0, 1, 2, 3], "b": Array(0..<7)])
        #expect(!model.searchEnd(of: "a"))
    }

    /// A run may be over while it waits for missing samples of an earlier one.
    @Test func theUnknownEndOfARunThatWaitsIsSearchedForInItsTurn() {
        let model = IntakeModel()
        model.arrive("a", 0..<3)
        model.arrive("a", 5..<6)
        model.arrive("b", 0..<2)
        #expect(model.searchEnd(of: "b"))
        model.arrive("c", 0..<2)
        model.bring("a", 3..<5)
        #expect(model.missing?.lowerBound == 2 && model.intake.isSearchingEnd)
        model.bring("b", 2..<4)
        model.finishSearch()
        #expect(model.taken == ["a": Array(0..<6), "b": Array(0..<4), "c": [0, 1]] && model.order == ["a", "b", "c"])
    }

    @Test func whatEndsLastAsksForAnUnknownEndBefore() {
        let model = IntakeModel()
        model.arrive("a", 0..<3)
        model.start("b", at: 0)
        #expect(model.searchEnd(of: "a"))
        model.end("b", before: 2)
        #expect(model.expectEnd())
        #expect(model.intake.isSearchingEnd)
        model.finishSearch()
        #expect(model.expectEnd())
        #expect(model.missing == 0..<2)
    }

    @Test func whatCameAfterTheEndIsNotTaken() {
        let model = IntakeModel()
        model.arrive("a", 0..<2)
        model.end("a", before: 5)
        #expect(!model.intake.isComplete)
        model.arrive("a", 2..<7)
        #expect(model.taken == ["a": Array(0..<5)])
        #expect(model.intake.isComplete)
        #expect(model.admit("a", 7..<9) == .late)
        #expect(model.admit("new", 0..<2) == .late)
    }

    @Test func anEndInsideOfWhatIsMissingShortensIt() {
        let model = IntakeModel()
        model.arrive("a", 0..<2)
        model.arrive("a", 20..<22)
        model.end("a", before: 5)
        #expect(model.missing == 2..<5)
        model.bring("a", 2..<6)
        #expect(model.taken == ["a": Array(0..<5)])
        #expect(model.intake.isComplete)
    }

    @Test func anEndBeforeWhatIsMissingEndsTheRecovery() {
        let model = IntakeModel()
        model.arrive("a", 0..<2)
        model.arrive("a", 20..<22)
        model.end("a", before: 1)
        #expect(model.missing?.isEmpty == true)
        model.goOn()
        #expect(model.intake.isComplete)
        #expect(model.taken == ["a": [0, 1]])
    }

    @Test func theLastBatchesAreMissedAlsoBehindAnotherGap() {
        let model = IntakeModel()
        model.arrive("a", 0..<2)
        model.arrive("a", 5..<7)
        model.end("a", before: 9)
        #expect(!model.expectEnd())
        model.bring("a", 2..<5)
        #expect(!model.intake.isComplete)
        #expect(model.expectEnd())
        #expect(model.missing == 7..<9)
        model.bring("a", 7..<9)
        #expect(model.intake.isComplete)
        #expect(!model.expectEnd())
    }

    @Test func numbersThatNoStreamComesToAreRefused() {
        #expect(ReorderBuffer.isPossible(sequence: 0, count: 0))
        #expect(ReorderBuffer.isPossible(sequence: ReorderBuffer.maximumSequence - 1, count: 1))
        #expect(!ReorderBuffer.isPossible(sequence: ReorderBuffer.maximumSequence, count: 1))
        #expect(!ReorderBuffer.isPossible(sequence: .max, count: 1))
        #expect(!ReorderBuffer.isPossible(sequence: 1, count: .max))
        #expect(!ReorderBuffer.isPossible(sequence: -1, count: 1))
        #expect(!ReorderBuffer.isPossible(sequence: 0, count: -1))
    }

    @Test func whatAPublisherClaimsIsBounded() {
        let model = IntakeModel()
        model.start("a", at: -5)
        #expect(model.intake.next(of: "a") == 0)
        #expect(!model.expect("a", upTo: .min))
        #expect(model.expect("a", upTo: .max))
        #expect(model.missing == 0..<ReorderBuffer.maximumSequence)
        model.end("a", before: .min)
        model.goOn()
        #expect(model.intake.isComplete)
    }

    /// Batches in two or three epochs, some dropped, repeated or delayed; replays that are late, partial, repeated or missing.
    /// Each sample is taken once and in order, or is part of exactly one gap.
    @Test(arguments: (0..<300).map { UInt64($0) })
    func everySampleIsTakenOnceOrInAGap(seed: UInt64) {
        var random = Xorshift(state: seed + 1)
        let model = IntakeModel(maximumHeldBytes: Bool.random(using: &random) ? 900 : .max)
        // The samples that each epoch published, and the session's beginning in it.
        var published: [String: [Range<Int>]] = [:]
        var starts: [String: Int] = [:]
        var delayed: [(epoch: String, samples: Range<Int>)] = []

        func replay() {
            guard let recovery = model.intake.recovery else { return }
            let missing = recovery.missing
            switch Int.random(in: 0..<8, using: &random) {
            case 0: model.giveUp()
            case 1: model.giveUp(before: .random(in: 0...missing.upperBound + 3, using: &random))
            case 2: break
            default:
                let batches = published[recovery.epoch, default: []].filter { $0.overlaps(missing) }
                for batch in batches.prefix(.random(in: 1...4, using: &random)) {
                    model.bring(recovery.epoch, batch)
                    // An old answer arrives again.
                    if Int.random(in: 0..<5, using: &random) == 0,
                        let old = published[recovery.epoch]?.randomElement(using: &random)
                    {
                        model.bring(recovery.epoch, old)
                    }
                }
            }
        }

        for epoch in ["a", "b", "c"].prefix(.random(in: 2...3, using: &random)) {
            var next = epoch == "a" ? Int.random(in: 0..<50, using: &random) : 0
            starts[epoch] = next
            model.start(epoch, at: next)
            for _ in 0..<Int.random(in: 1..<40, using: &random) {
                let batch = next..<next + Int.random(in: 1..<6, using: &random)
                next = batch.upperBound
                published[epoch, default: []].append(batch)
                switch Int.random(in: 0..<10, using: &random) {
                case 0...5: model.arrive(epoch, batch)
                case 6:
                    model.arrive(epoch, batch)
                    model.arrive(epoch, batch)
                case 7: delayed.append((epoch, batch))
                default: break
                }
                if !delayed.isEmpty, Int.random(in: 0..<4, using: &random) == 0 {
                    let batch = delayed.remove(at: .random(in: 0..<delayed.count, using: &random))
                    model.arrive(batch.epoch, batch.samples)
                }
                if Int.random(in: 0..<5, using: &random) == 0 { _ = model.expect(epoch, upTo: next) }
                if Int.random(in: 0..<3, using: &random) == 0 { replay() }
            }
        }
        for (epoch, batches) in published {
            model.end(epoch, before: batches.last?.upperBound ?? 0)
        }
        // A recovery may have nothing left to request.
        model.goOn()
        var rounds = 0
        while !model.intake.isComplete, rounds < 10_000 {
            _ = model.expectEnd()
            replay()
            rounds += 1
        }
        #expect(model.intake.isComplete)
        for (epoch, batches) in published {
            let taken = model.taken[epoch] ?? []
            #expect(taken == taken.sorted())
            let lost = model.lost.filter { $0.epoch == epoch }.flatMap { $0.from..<$0.from + $0.count }
            let expected = Array((starts[epoch] ?? 0)..<(batches.last?.upperBound ?? 0))
            #expect((taken + lost).sorted() == expected)
        }
    }
}
