import Files
package import Messages
import Recording

/// How logs are to be written, and lists of files.
extension StreamFiles {
    package func add(_ request: LogsAdd, at now: Moment) -> Answer<LogConfiguration> {
        let answer = Answer<LogConfiguration>()
        do throws(RequestError) {
            let configuration = try Self.configuration(by: request)
            if catalog.configuration(of: try Self.log(request.name)) != nil {
                throw RequestError(
                    .alreadyExists, "there is a log '\(request.name)' already; remove it first, or choose another name")
            }
            change(.addLog(configuration), for: .newLog(configuration, answer))
        } catch {
            answer.refuse(error)
        }
        return answer
    }

    private static func configuration(by request: LogsAdd) throws(RequestError) -> LogConfiguration {
        var configuration = LogConfiguration(name: try log(request.name).text, format: request.format)
        configuration.maximumFileSize = request.maximumFileSize ?? configuration.maximumFileSize
        configuration.maximumFileAge = request.maximumFileAge ?? configuration.maximumFileAge
        if let format = request.format, LogFormat(rawValue: format) == nil {
            throw RequestError(.invalidParameter, "there is no format '\(format)'; write json, csv or tsv")
        }
        let age = configuration.maximumFileAge
        guard configuration.maximumFileSize >= 0, age == 0 || (age >= 1 && age < 1e9) else {
            throw RequestError(
                .invalidParameter,
                "maximumFileSize \(configuration.maximumFileSize) or maximumFileAge \(age) makes no sense; write bytes and "
                    + "seconds, 1 or more, or 0 for no limit")
        }
        return configuration
    }

    package func configuration(_ request: LogsGet) throws(RequestError) -> LogConfiguration {
        guard let configuration = catalog.configuration(of: try Self.log(request.name)) else {
            throw RequestError(.unknownLog, "there is no log '\(request.name)'; logs.names lists those that were added")
        }
        return configuration
    }

    /// Finished files, oldest first.
    package func files(
        of name: String?, pendingOnly: Bool, after: String?, limit: Int?, at now: Moment
    ) throws(RequestError) -> LogFileList {
        let limit = limit ?? LogsList.maximumLimit
        guard (1...LogsList.maximumLimit).contains(limit) else {
            throw RequestError(.invalidParameter, "limit is \(limit): write 1 to \(LogsList.maximumLimit)")
        }
        var log: LogName?
        if let name { log = try Self.log(name) }
        do throws(RecordingError) {
            var files = try catalog.files(of: log, isPending: pendingOnly ? true : nil, after: after, limit: limit + 1)
            let more = files.count > limit
            if more { files.removeLast() }
            return LogFileList(files: files.map(\.entry), more: more ? true : nil)
        } catch {
            throw refusal(of: error, at: now)
        }
    }

    static func log(_ name: String) throws(RequestError) -> LogName {
        guard let log = LogName(existing: name) else {
            throw RequestError(
                .invalidParameter,
                "'\(name)' can't be a log's name: write it as its files are named, letters, digits, - and _, "
                    + "left-wrist_accelerometer say")
        }
        return log
    }
}
