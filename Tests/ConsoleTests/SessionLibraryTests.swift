import Foundation
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
}
