#ifndef HOLDFAST_CPHONEPAGES_PAGES_H
#define HOLDFAST_CPHONEPAGES_PAGES_H

#include "page_files.h"

/// The files of the page for phones.
struct holdfast_pages holdfast_phone_pages(void);

#endif
