// Embeds the files of the page for phones. The compiler reads them again when they change.

#include "phone_pages.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char icon_svg[] = {
#embed "Pages/icon.svg"
};

static const unsigned char phone_css[] = {
#embed "Pages/phone.css"
};

static const unsigned char phone_html[] = {
#embed "Pages/phone.html"
};

static const unsigned char phone_js[] = {
#embed "Pages/phone.js"
};

static const unsigned char store_js[] = {
#embed "Pages/store.js"
};

static const struct holdfast_page files[] = {
    HOLDFAST_PAGE("icon.svg", icon_svg),
    HOLDFAST_PAGE("phone.css", phone_css),
    HOLDFAST_PAGE("phone.html", phone_html),
    HOLDFAST_PAGE("phone.js", phone_js),
    HOLDFAST_PAGE("store.js", store_js),
};

struct holdfast_pages holdfast_phone_pages(void) {
    return (struct holdfast_pages){files, sizeof files / sizeof files[0]};
}
