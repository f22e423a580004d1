import Archiver
import ArgumentParser
import FoundationEssentials
import ServiceKit
import SystemPackage
import TestSupport
import Testing

@testable import Upload

/// What people may configure, and the secrets that must never appear in messages.
@Suite struct UploadSettingsTests {
    private func settings(
        _ values: [String: String], environment: [String: String] = [:]
    ) throws -> UploadSettings {
        var flags = FlagValues()
        for (key, value) in values { flags.set(key, value) }
        let reader = try ConfigurationReader(for: .archiver, flags: flags, environment: environment)
        return try UploadSettings(reading: reader)
    }

    private func complaint(_ values: [String: String], environment: [String: String] = [:]) -> String {
        do {
            try settings(values, environment: environment).check()
            return "none"
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: [
        "file:///mnt/share/study%201", "https://host/archives/{name}", "https://host:8443/a/{name}/b",
        "s3://bucket/pre/fix", "s3://bucket",
    ]) func placesAreReadBack(text: String) throws {
        let target = try UploadTarget(typed: text)
        #expect(target.description == text)
        #expect(try UploadTarget(typed: target.description) == target)
    }

    @Test(arguments: [
        "ftp://host/", "share", "", "file://share/x", "https://host/fixed.zip", "https://", "s3://", "s3:///x",
        "s3://a b",
        "https://user:hunter2@host/", "https://host/#x", "https://host/{name}?sig=hunter2#x",
    ]) func otherPlacesAreRefused(text: String) {
        do {
            _ = try UploadTarget(typed: text)
            Issue.record("it was taken")
        } catch {
            #expect(!"\(error)".contains("hunter2"))
        }
    }

    @Test func namesGoIntoAddresses() throws {
        let template = try WebTemplate(typed: "https://host/a/{name}?file={name}&sig=hunter2")
        #expect(
            template.address(of: "a b&é.zip").secretText
                == "https://host/a/a%20b%26%C3%A9.zip?file=a%20b%26%C3%A9.zip&sig=hunter2")
        #expect(template.address(of: "x").description == "https://host/a/x?…")
        #expect("\(template)" == "https://host/a/{name}?…")
        #expect(try WebTemplate(typed: "https://host/a/").address(of: "x").secretText == "https://host/a/x")
    }

    @Test func secretsAreNotPrinted() throws {
        let key = try S3Credentials.Source.environment([
            "AWS_ACCESS_KEY_ID": "hunter1", "AWS_SECRET_ACCESS_KEY": "hunter2", "AWS_SESSION_TOKEN": "hunter3",
        ]).credentials()
        let address = try WebAddress(typed: "https://host/x?sig=hunter2")
        let request = HTTPRequest(
            method: "PUT", address: address, headers: [HTTPHeader("Authorization", "Bearer hunter2")])
        for value in [key, address, request, Secret("hunter2")] as [Any] {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped] { #expect(!text.contains("hunter")) }
        }
    }

    @Test func aSignatureIsNotForTheCommandLine() {
        #expect(throws: (any Error).self) {
            _ = try ArchiverCommand.parse(["--upload-to", "https://host/{name}?sig=hunter2"])
        }
        #expect(throws: Never.self) { _ = try ArchiverCommand.parse(["--upload-to", "https://host/{name}"]) }
    }

    @Test func aReceiverIsMadeOfThem() throws {
        #expect(try settings([:]).receiver == nil)
        #expect(try settings(["upload-to": "file:///mnt"]).receiver?.location(of: "a b") == "file:///mnt/a%20b")
        let web = try settings(["upload-to": "http://host/", "upload-insecure": "true"])
        #expect(web.receiver?.location(of: "a") == "http://host/a")
        let amazon = try #require(
            try settings(["upload-to": "s3://bucket/p"], environment: ["AWS_REGION": "eu-north-1"]).receiver
                as? WebReceiver)
        #expect(amazon.location(of: "a") == "s3://bucket/p/a")
        let request = { (receiver: WebReceiver) throws in
            let keys = try #require(receiver.store as? S3Store)
            let store = S3Store(
                bucket: keys.bucket, prefix: keys.prefix, endpoint: keys.endpoint, region: keys.region,
                addressing: keys.addressing,
                credentials: .environment(["AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"]))
            return try store.request("HEAD", "a b").address.secretText
        }
        #expect(try request(amazon) == "https://bucket.s3.eu-north-1.amazonaws.com/p/a%20b")
        let own = try #require(
            try settings(["upload-to": "s3://bucket", "s3-endpoint": "https://s3.example:9000/base/"]).receiver
                as? WebReceiver)
        #expect(try request(own) == "https://s3.example:9000/base/bucket/a%20b")
        let limits = try settings(["upload-limit": "1MB", "uploads": "2", "upload-stall": "5s", "upload-attempts": "3"])
        #expect(limits.bytesPerSecond == 1_000_000 && limits.count == 2)
        #expect(limits.options.stallSeconds == 5 && limits.policy.attempts == 3)
    }

    @Test func mistakesAreExplained() {
        #expect(complaint(["upload-to": "http://127.0.0.example/"]).contains("use https"))
        #expect(complaint(["upload-to": "http://127.0.0.1:8080/"]) == "none")
        #expect(complaint(["upload-to": "http://host/"]).contains("use https, or pass --upload-insecure"))
        #expect(
            complaint(["upload-to": "s3://b", "s3-endpoint": "http://host:9000"]).contains(
                "s3-endpoint http://host:9000/"))
        #expect(complaint(["upload-to": "s3://bucket"]).contains("set AWS_ACCESS_KEY_ID"))
        #expect(complaint(["uploads": "0"]).contains("write 1 to 64"))
        #expect(complaint(["upload-limit": "10B"]).contains("write 1KB or more"))
        #expect(complaint(["upload-stall": "0"]).contains("write 1s or more"))
        #expect(complaint(["s3-addressing": "odd"]).contains("not one of path, virtual"))
        #expect(complaint(["upload-to": "file:///not/there"]).contains("can't be opened"))
        #expect(complaint(["upload-to": "https://host/", "upload-headers": "/not/there"]).contains("can't be read"))
    }

    @Test func secretFilesAreClosedToOthers() throws {
        try withTemporaryDirectory { directory in
            let path = directory.appending("key")
            try Data(
                """
                # of the study
                [default]
                aws_access_key_id = AKIA
                aws_secret_access_key=a=b/c
                [other]
                aws_access_key_id = other
                """.utf8
            ).write(to: URL(filePath: path.string))
            for (mode, isFine) in [(0o600, true), (0o400, true), (0o640, true), (0o604, false), (0o620, false)] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path.string)
                let key = try? S3Credentials.Source.file(path).credentials()
                #expect((key != nil) == isFine)
                if let key {
                    #expect(key.keyIdentifier.reveal() == "AKIA" && key.key.reveal() == "a=b/c" && key.token == nil)
                }
            }
            try Data("Authorization: Bearer hunter2\nhunter3\n".utf8).write(to: URL(filePath: path.string))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path.string)
            let text = complaint(["upload-to": "https://host/", "upload-headers": path.string])
            #expect(text.contains("is not a field") && !text.contains("hunter"))
            #expect(complaint(["upload-to": "s3://bucket", "s3-credentials": path.string]).contains("has no key"))
        }
    }
}
