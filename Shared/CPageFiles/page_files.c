// A target needs a file that is compiled.
#include "page_files.h"
