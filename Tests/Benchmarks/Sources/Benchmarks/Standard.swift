import Glibc

/// Lines on standard output, unbuffered.
enum Standard {
    static func print(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(STDOUT_FILENO, bytes, bytes.count)
    }
}
