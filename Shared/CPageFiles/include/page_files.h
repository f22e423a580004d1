#ifndef HOLDFAST_CPAGEFILES_PAGE_FILES_H
#define HOLDFAST_CPAGEFILES_PAGE_FILES_H

#include <stddef.h>

/// A file of a page, as it was when the program was built.
struct holdfast_page {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

/// All files of a page.
struct holdfast_pages {
    const struct holdfast_page *files;
    size_t count;
};

/// An entry of such files: a name, and an array with the bytes.
#define HOLDFAST_PAGE(name, bytes) {name, bytes, sizeof bytes}

#endif
