import FoundationEssentials
import Messages
import ServiceKit
import SystemPackage
import TestSupport
import Testing

/// Checks that the commands in README.md and docs/ run, and that their links lead somewhere.
@Suite(.timeLimit(.minutes(5)))
struct DocumentationTests {
    private static let pages = (try? DocumentationPage.all()) ?? []

    /// The pages with commands, except one whose servers may not have been downloaded.
    private static let runnable = pages.filter {
        !$0.commands.isEmpty && ($0.name != "docs/relay.md" || Tool.exists("nats-server"))
    }

    @Test func thereAreAllPages() throws {
        let pages = try DocumentationPage.all()
        let names = pages.map(\.name)
        #expect(names.first == "README.md")
        let index = try #require(pages.first { $0.name == "docs/README.md" })
        for name in names where name.hasPrefix("docs/") && name != index.name {
            #expect(index.links.contains(String(name.dropFirst("docs/".count))), "docs/README.md does not list it")
        }
    }

    @Test func theReadmeIsShort() throws {
        let readme = try #require(Self.pages.first)
        #expect(readme.lines.count <= 150)
    }

    @Test func theCitationNamesThisVersion() throws {
        let citation = try String(
            contentsOfFile: DocumentationPage.root.appending("CITATION.cff").string, encoding: .utf8)
        let version = try #require(citation.firstMatch(of: #/(?m)^version: (\S+)$/#)?.output.1)
        #expect(version == Version.current)
    }

    @Test(arguments: pages)
    func everyLinkLeadsSomewhere(on page: DocumentationPage) throws {
        for link in page.links where !link.hasPrefix("https://") {
            let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let target = parts[0].isEmpty ? page.path : page.path.removingLastComponent().appending(parts[0])
            #expect(FileManager.default.fileExists(atPath: target.string), "\(page.name) links to \(link)")
            guard parts.count == 2 else { continue }
            let anchors = try DocumentationPage(path: target, name: link).anchors
            #expect(anchors.contains(parts[1]), "\(page.name) links to \(link)")
        }
    }

    /// Each test name of an ancestor is listed here, with an existing test or a reason.
    @Test func everyTestOfAnAncestorExists() throws {
        let page = try #require(Self.pages.first { $0.name == "docs/ancestors.md" })
        let tests = page.text.matches(of: #/\[`(\w+)`\]\((\S+\.swift)\)/#)
        #expect(tests.count > 150)
        for test in tests {
            let path = page.path.removingLastComponent().appending(String(test.output.2))
            let source = try String(contentsOfFile: path.string, encoding: .utf8)
            #expect(source.contains("func \(test.output.1)("), "\(test.output.2) has no test \(test.output.1)")
        }
        let tables = page.text.split(separator: "\n\n").filter { $0.contains(" | here | test |\n") }
        #expect(tables.count == 5)
        for row in tables.flatMap({ $0.split(separator: "\n").dropFirst(2) }) {
            #expect(row.contains(".swift)") || row.contains("| none: "), "\(row)")
        }
    }

    /// This way, every block is either checked by one of the tests here, or output.
    @Test(arguments: pages)
    func everyBlockSaysWhatItIs(on page: DocumentationPage) {
        for block in page.blocks {
            #expect(["sh", "python", "json", "yaml", "text"].contains(block.kind), "\(page.name):\(block.line)")
        }
        #expect(!page.prose.contains("\n\n    "), "a block without a fence")
    }

    /// In many locales, awk writes 0,5.
    @Test(arguments: pages)
    func awkWritesDecimalPointsInEveryLocale(on page: DocumentationPage) {
        for block in page.blocks where block.kind == "sh" {
            #expect(!"\n\(block.text)".contains("\nawk "), "\(page.name):\(block.line): begin with LC_ALL=C")
        }
    }

    @Test(arguments: pages)
    func everyJSONBlockIsJSON(on page: DocumentationPage) {
        for block in page.blocks where block.kind == "json" {
            #expect(throws: Never.self, "\(page.name):\(block.line)") {
                _ = try JSONDecoder().decode(JSONValue.self, from: Data(block.text.utf8))
            }
        }
    }

    /// Commands that run for long, or outside this machine, are tested as targets of make.
    @Test(arguments: pages)
    func everyTargetOfMakeExists(on page: DocumentationPage) throws {
        let makefile = try String(
            contentsOfFile: DocumentationPage.root.appending("Makefile").string, encoding: .utf8)
        let targets = Set(makefile.split(separator: "\n").compactMap { $0.firstMatch(of: #/^([a-z-]+):/#)?.output.1 })
        let named = page.text.matches(of: #/(?m)(?:^|`)make ([a-z-]+)/#).map(\.output.1)
        for target in named { #expect(targets.contains(target), "\(page.name): make \(target)") }
    }

    /// Options mentioned in the text must be options of a program.
    @Test func everyOptionExists() async throws {
        // Options of Docker and curl.
        var known: Set = ["--scale", "--cacert"]
        for program in DocumentationPage.programs {
            let help = try await Self.help(of: program)
            known.formUnion(Self.options(in: help))
            for subcommand in Self.subcommands(in: help) {
                known.formUnion(try await Self.options(in: Self.help(of: program, subcommand)))
            }
        }
        let pages = Self.pages.filter { !["docs/testing.md", "docs/benchmarks.md"].contains($0.name) }
        for page in pages {
            for option in Self.options(in: page.inlineCode) where !known.contains(option) {
                Issue.record("\(page.name): no program has the option \(option)")
            }
        }
    }

    /// Runs a page's commands in sequence, as a reader would type them, in a network namespace of their own, so that the programs
    /// can use their default ports.
    @Test(.enabled("\(Network.need)") { await Network.isPossible() }, arguments: runnable)
    func everyCommandRuns(on page: DocumentationPage) async throws {
        let programs = try ProductsDirectory.executable("recorder").removingLastComponent()
        try await withTemporaryDirectory { directory in
            try await Network.run(hosts: 1) { network in
                let (executable, arguments) = network.on(1)
                let script = """
                    trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
                    set -eu
                    \(page.commands)
                    """
                let places = [programs, DocumentationPage.root.appending("packaging")] + Tool.directories
                let search = places.map(\.string).joined(separator: ":")
                try await ProgramUnderTest.run(
                    executable: executable, arguments: arguments + ["bash", "-c", script],
                    environment: ["PATH": search, "HOLDFAST_PROGRAMS": programs.string], in: directory
                ) { run in
                    let end = try await run.end(within: .seconds(240))
                    #expect(end == .exited(0), "\(page.name): \(run.standardOutput)\(run.standardError)")
                }
            }
        }
    }

    // MARK: Help

    private static func help(of program: String, _ subcommand: String...) async throws -> String {
        try await Tool.output(of: ProductsDirectory.executable(program), subcommand + ["--help"])
    }

    private static func subcommands(in help: String) -> [String] {
        guard let list = help.firstRange(of: "SUBCOMMANDS:\n") else { return [] }
        return help[list.upperBound...].matches(of: #/(?m)^  ([a-z]+) /#).map { String($0.output.1) }
    }

    private static func options(in text: String) -> Set<String> {
        Set(text.matches(of: #/--[a-z][a-z0-9-]*/#).map { String($0.output) })
    }
}
