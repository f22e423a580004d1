#ifndef HOLDFAST_CPHONEPAGES_PAGES_H
#define HOLDFAST_CPHONEPAGES_PAGES_H

#include "page_files.h"

struct holdfast_pages holdfast_phone_pages(void);

#endif
