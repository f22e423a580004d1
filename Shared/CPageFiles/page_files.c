// A SwiftPM target needs a source file to compile.
#include "page_files.h"
