// Embeds the files of the console's page. The compiler reads them again when they change. Each file has an array and an entry in
// the table; a test checks that none is missing.

#include "pages.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char api_js[] = {
#embed "Pages/api.js"
};

static const unsigned char dom_js[] = {
#embed "Pages/dom.js"
};

static const unsigned char format_js[] = {
#embed "Pages/format.js"
};

static const unsigned char icon_svg[] = {
#embed "Pages/icon.svg"
};

static const unsigned char index_html[] = {
#embed "Pages/index.html"
};

static const unsigned char live_js[] = {
#embed "Pages/live.js"
};

static const unsigned char main_js[] = {
#embed "Pages/main.js"
};

static const unsigned char plot_js[] = {
#embed "Pages/plot.js"
};

static const unsigned char record_js[] = {
#embed "Pages/record.js"
};

static const unsigned char series_js[] = {
#embed "Pages/series.js"
};

static const unsigned char sessions_js[] = {
#embed "Pages/sessions.js"
};

static const unsigned char store_js[] = {
#embed "Pages/store.js"
};

static const unsigned char style_css[] = {
#embed "Pages/style.css"
};

static const unsigned char system_js[] = {
#embed "Pages/system.js"
};

static const unsigned char theme_js[] = {
#embed "Pages/theme.js"
};

static const struct holdfast_page files[] = {
    HOLDFAST_PAGE("api.js", api_js),
    HOLDFAST_PAGE("dom.js", dom_js),
    HOLDFAST_PAGE("format.js", format_js),
    HOLDFAST_PAGE("icon.svg", icon_svg),
    HOLDFAST_PAGE("index.html", index_html),
    HOLDFAST_PAGE("live.js", live_js),
    HOLDFAST_PAGE("main.js", main_js),
    HOLDFAST_PAGE("plot.js", plot_js),
    HOLDFAST_PAGE("record.js", record_js),
    HOLDFAST_PAGE("series.js", series_js),
    HOLDFAST_PAGE("sessions.js", sessions_js),
    HOLDFAST_PAGE("store.js", store_js),
    HOLDFAST_PAGE("style.css", style_css),
    HOLDFAST_PAGE("system.js", system_js),
    HOLDFAST_PAGE("theme.js", theme_js),
};

struct holdfast_pages holdfast_console_pages(void) {
    return (struct holdfast_pages){files, sizeof files / sizeof files[0]};
}
