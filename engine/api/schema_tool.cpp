// build/native/api_schema --ts | --md: the methods of the engine as TypeScript, and as a document.
#include <cstdio>
#include <string_view>

#include "api/schema.h"

int main(int count, char** arguments) {
    const std::string_view wanted = count == 2 ? arguments[1] : "";
    if (wanted != "--ts" && wanted != "--md") {
        std::fputs("usage: api_schema --ts | --md\n", stderr);
        return 2;
    }
    const std::string text = wanted == "--ts" ? lapidary::api::messages_ts() : lapidary::api::messages_md();
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
}
