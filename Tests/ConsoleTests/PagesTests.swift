import FoundationEssentials
import SystemPackage
import Testing
import WebServer

@testable import ConsoleEngine

struct PagesTests {
    @Test func everyFileOfThePageIsInTheProgram() throws {
        let root = FilePath(#filePath).removingLastComponent().removingLastComponent().removingLastComponent()
        let folder = root.appending("Shared/CConsolePages/Pages")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.string)
        #expect(names.contains("index.html"))
        #expect(Set(ConsolePages.embedded.map(\.name)) == Set(names), "Shared/CConsolePages/pages.c lists them")
        for embedded in ConsolePages.embedded {
            let file = try Data(contentsOf: URL(filePath: folder.appending(embedded.name).string))
            #expect(Array(file) == embedded.body, "\(embedded.name) has changed since the program was built")
        }
        let (embedded, read) = try (ConsolePages(in: nil), ConsolePages(in: folder))
        for name in names where name != "index.html" {
            #expect(embedded["/assets/\(name)"] != nil, "a file of this kind is not served")
            #expect(read["/assets/\(name)"] != nil)
        }
        #expect(embedded["/"]?.type == "text/html; charset=utf-8")
        #expect(embedded["/assets/index.html"] == nil && embedded["/assets/../index.html"] == nil)
    }
}
