// Puts the files of the page for phones into the program: the compiler reads them, and reads them again when they change.

#include "phone_pages.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char icon_svg[] = {
#embed "../../Services/SensorPublisher/Pages/icon.svg"
};

static const unsigned char phone_css[] = {
#embed "../../Services/SensorPublisher/Pages/phone.css"
};

static const unsigned char phone_html[] = {
#embed "../../Services/SensorPublisher/Pages/phone.html"
};

static const unsigned char phone_js[] = {
#embed "../../Services/SensorPublisher/Pages/phone.js"
};

static const unsigned char store_js[] = {
#embed "../../Services/SensorPublisher/Pages/store.js"
};

#define PAGE(path, type, bytes) {path, type, bytes, sizeof bytes}

static const struct holdfast_phone_page pages[] = {
    PAGE("/favicon.ico", "image/svg+xml", icon_svg),
    PAGE("/phone", "text/html; charset=utf-8", phone_html),
    PAGE("/phone.css", "text/css; charset=utf-8", phone_css),
    PAGE("/phone.js", "text/javascript; charset=utf-8", phone_js),
    PAGE("/store.js", "text/javascript; charset=utf-8", store_js),
};

const struct holdfast_phone_page *holdfast_phone_page(size_t index) {
    return index < sizeof pages / sizeof pages[0] ? &pages[index] : NULL;
}
