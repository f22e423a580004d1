import PublisherEngine
import Testing

/// Links as QR codes, made by libqrencode.
@Suite(.timeLimit(.minutes(1)))
struct QRCodeTests {
    private let link = "https://192.168.1.20:8443/phone#token=0123456789abcdefghijklmnopqrstuvwxyz"

    @Test func aCodeHasItsThreeEyesAndItsLink() throws {
        let code = try #require(QRCode(link))
        let size = code.rows.count
        #expect(code.rows.allSatisfy { $0.count == size })
        #expect((size - 17) % 4 == 0)
        let eye = ["#######", "#.....#", "#.###.#", "#.###.#", "#.###.#", "#.....#", "#######"]
        for (x, y) in [(0, 0), (size - 7, 0), (0, size - 7)] {
            let found = (0..<7).map { row in String(code.rows[y + row][x..<x + 7].map { $0 ? "#" : "." }) }
            #expect(found == eye)
        }
        #expect(try #require(QRCode("\(link)0")).rows != code.rows)
    }

    @Test func aTerminalAndAPageShowTheSameModules() throws {
        let code = try #require(QRCode(link))
        let lines = code.terminalText.split(separator: "\n")
        #expect(lines.count == (code.rows.count + 9) / 2)
        let dark = lines.joined().reduce(0) { $0 + ($1 == "█" ? 2 : "▀▄".contains($1) ? 1 : 0) }
        #expect(dark == code.rows.joined().count { $0 })
        #expect(code.svg.matches(of: /h1v1h-1z/).count == dark)
    }

    @Test func whatNoCodeCanHoldHasNone() {
        #expect(QRCode("") == nil)
        #expect(QRCode(String(repeating: "x", count: 5_000)) == nil)
    }
}
