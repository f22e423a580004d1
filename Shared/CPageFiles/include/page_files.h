#ifndef HOLDFAST_CPAGEFILES_PAGE_FILES_H
#define HOLDFAST_CPAGEFILES_PAGE_FILES_H

#include <stddef.h>

/// An embedded file of a page, as of the build.
struct holdfast_page {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

struct holdfast_pages {
    const struct holdfast_page *files;
    size_t count;
};

/// An entry of the table: a name, and an array with the bytes.
#define HOLDFAST_PAGE(name, bytes) {name, bytes, sizeof bytes}

#endif
