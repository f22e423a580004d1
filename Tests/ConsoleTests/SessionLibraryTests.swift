import Files
import Foundation
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

@testable import ConsoleEngine

/// The list of stored sessions, page by page.
@Suite struct SessionLibraryTests {
    @Test func aPageFollowsOneWhoseLastSessionIsGone() throws {
        try withTemporaryDirectory { data in
            let sessions = try (0..<52).map { number in
                let session = try MadeSession(in: data, "s\(100 + number)")
                try session.finish(at: 1)
                return session
            }
            let library = SessionLibrary(in: data)
            let first = try library.list(search: nil, after: nil)
            #expect(first.sessions.count == 50)
            let last = try #require(sessions.first { $0.record.session.text == first.sessions.last?.session })
            try FileManager.default.removeItem(atPath: last.path.string)
            let second = try library.list(search: nil, after: first.next)
            let listed = first.sessions.map(\.session) + second.sessions.map(\.session)
            #expect(listed == (100..<152).reversed().map { "s\($0)" })
        }
    }

    @Test func theReceiptOfAnEarlierSessionOfTheNameIsNotShown() throws {
        try withTemporaryDirectory { data in
            let session = try MadeSession(in: data, "s1")
            try session.finish(at: 1)
            let archives = Directory(data.appending("archives"))
            try archives.create()
            try archives.replace("s1.zip", with: [1])
            func entry(ofReceiptFrom start: WallTime) throws -> SessionLibrary.Entry {
                let receipt =
                    #"{"session": "s1", "startDate": "\#(start.utcText)", "date": "2026-11-22T10:00:00Z", "files": []}"#
                try archives.replace("s1.receipt.json", with: Array(receipt.utf8))
                return try #require(try SessionLibrary(in: data).list(search: nil, after: nil).sessions.first)
            }
            let start = session.record.startDate
            let own = try entry(ofReceiptFrom: start)
            #expect(own.receipt != nil)
            #expect(own.archive?.bytes == 1)
            let earlier = try entry(ofReceiptFrom: WallTime(seconds: start.seconds - 3600))
            #expect(earlier.receipt == nil)
            #expect(earlier.archive == nil)
        }
    }
}
