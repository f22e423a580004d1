// Depends on every program, so that one `swift build --target Programs` builds all of them: with `--product` given several
// times, only the last one is built.
