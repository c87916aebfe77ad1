#include "grammar/text_formats.h"

#include <algorithm>
#include <array>

namespace lapidary::grammar {
namespace {

// February has 29 days in years that four divides, but for most that a hundred does.
// Nobody agrees about the year 0.
#define LAPIDARY_YEAR "(\\d{3}[1-9]|\\d{2}[1-9]\\d|\\d[1-9]\\d{2}|[1-9]\\d{3})"
#define LAPIDARY_LEAP_DAY "(\\d\\d(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)-02-29"
#define LAPIDARY_DATE                                                                                    \
    "(" LAPIDARY_YEAR                                                                                    \
    "-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))" \
    "|" LAPIDARY_LEAP_DAY ")"
#define LAPIDARY_TIME "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?([Zz]|[+-]([01]\\d|2[0-3]):[0-5]\\d)"
// A name of hosts is no longer than 253 characters, and a part of it no longer than 63.
#define LAPIDARY_LABEL "[a-zA-Z0-9](-?[a-zA-Z0-9]){0,20}"
#define LAPIDARY_HOST LAPIDARY_LABEL "(\\." LAPIDARY_LABEL "){0,5}"
#define LAPIDARY_OCTET "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define LAPIDARY_IPV4 LAPIDARY_OCTET "(\\." LAPIDARY_OCTET "){3}"
#define LAPIDARY_GROUP "[0-9a-fA-F]{1,4}"
#define LAPIDARY_PERCENT "%[0-9a-fA-F]{2}"
// Characters of a path, and of what follows it.
#define LAPIDARY_PATH "([a-zA-Z0-9._~!$&'()*+,;=:@-]|" LAPIDARY_PERCENT ")"
#define LAPIDARY_QUERY "([a-zA-Z0-9._~!$&'()*+,;=:@/?-]|" LAPIDARY_PERCENT ")"
#define LAPIDARY_AFTER_PATH "(\\?" LAPIDARY_QUERY "*)?(#" LAPIDARY_QUERY "*)?"
#define LAPIDARY_AUTHORITY "([a-zA-Z0-9._~!$&'()*+,;=:-]+@)?[a-zA-Z0-9_-]+(\\.[a-zA-Z0-9_-]+)*\\.?(:\\d{1,5})?"
#define LAPIDARY_URI                                                                                               \
    "[a-zA-Z][a-zA-Z0-9+.-]*:(//" LAPIDARY_AUTHORITY "(/" LAPIDARY_PATH "*)*|/?" LAPIDARY_PATH "+(/" LAPIDARY_PATH \
    "*)*|///" LAPIDARY_PATH "*(/" LAPIDARY_PATH "*)*)" LAPIDARY_AFTER_PATH
#define LAPIDARY_POINTER "(/([^/~]|~[01])*)*"
// Days and hours, or weeks.
// Parts of regular expressions: a character or a set of some, how often, and what stands between bars.
#define LAPIDARY_ONE                                                            \
    "[a-zA-Z0-9 _:;,/<>=!@#%&~'\"-]|\\\\[dDwWsS.\\-/*+?()\\[\\]{}|^$\\\\]|\\.|" \
    "\\[\\^?(a-z|A-Z|0-9|\\\\[dws.]|[a-zA-Z0-9_ ,./'\"=+*(){}|$:;!?@#%<>])+-?\\]"
#define LAPIDARY_TIMES "(([*+?]|\\{([1-9]\\d?,?|\\d,[1-9]\\d|[01],[2-9])\\})(\\?)?)?"
#define LAPIDARY_BRANCH \
    "\\^?((" LAPIDARY_ONE "|\\((\\?:)?((" LAPIDARY_ONE ")" LAPIDARY_TIMES "|\\|)*\\))" LAPIDARY_TIMES ")*\\$?"
#define LAPIDARY_HOURS "T(\\d+H(\\d+M(\\d+S)?)?|\\d+M(\\d+S)?|\\d+S)"
#define LAPIDARY_DAYS "(\\d+Y(\\d+M(\\d+D)?)?|\\d+M(\\d+D)?|\\d+D)"

constexpr auto kFormats = std::to_array<TextFormat>({
    {"date", "^" LAPIDARY_DATE "$", "^\\d{4}-\\d\\d-\\d\\d$"},
    {"time", "^" LAPIDARY_TIME "$", "^\\d\\d:\\d\\d:\\d\\d"},
    {"date-time", "^" LAPIDARY_DATE "[Tt]" LAPIDARY_TIME "$", "^\\d{4}-\\d\\d-\\d\\d.\\d\\d:\\d\\d:\\d\\d"},
    {"duration", "^P(" LAPIDARY_DAYS "(" LAPIDARY_HOURS ")?|" LAPIDARY_HOURS "|\\d+W)$", "^P[\\dA-Z.,]+$"},
    {"uuid", "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
     "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"},
    {"email", "^[a-zA-Z0-9_+-]+(\\.[a-zA-Z0-9_+-]+)*@" LAPIDARY_HOST "$", "@"},
    {"idn-email", "^[a-zA-Z0-9_+-]+(\\.[a-zA-Z0-9_+-]+)*@" LAPIDARY_HOST "$", "@"},
    {"hostname", "^" LAPIDARY_HOST "$", "^[a-zA-Z0-9_.-]+$"},
    {"idn-hostname", "^" LAPIDARY_HOST "$", "^[^ @/:]+$"},
    {"ipv4", "^" LAPIDARY_IPV4 "$", "^[\\d.]+$"},
    {"ipv6",
     "^((" LAPIDARY_GROUP ":){7}" LAPIDARY_GROUP "|(" LAPIDARY_GROUP ":){1,7}:|(" LAPIDARY_GROUP
     ":){1,6}:" LAPIDARY_GROUP "|(" LAPIDARY_GROUP ":){1,5}(:" LAPIDARY_GROUP "){1,2}|(" LAPIDARY_GROUP
     ":){1,4}(:" LAPIDARY_GROUP "){1,3}|(" LAPIDARY_GROUP ":){1,3}(:" LAPIDARY_GROUP "){1,4}|(" LAPIDARY_GROUP
     ":){1,2}(:" LAPIDARY_GROUP "){1,5}|" LAPIDARY_GROUP ":(:" LAPIDARY_GROUP "){1,6}|:((:" LAPIDARY_GROUP
     "){1,7}|:)|::([fF]{4}:)?" LAPIDARY_IPV4 ")$",
     "^[0-9a-fA-F:.]*:[0-9a-fA-F:.]*$"},
    {"uri", "^" LAPIDARY_URI "$", "^[a-zA-Z][a-zA-Z0-9+.-]*:"},
    {"iri", "^" LAPIDARY_URI "$", "^[a-zA-Z][a-zA-Z0-9+.-]*:"},
    {"uri-reference",
     "^(" LAPIDARY_URI "|//" LAPIDARY_AUTHORITY "(/" LAPIDARY_PATH "*)*" LAPIDARY_AFTER_PATH
     "|/?(([a-zA-Z0-9._~!$&'()*+,;=@-]|" LAPIDARY_PERCENT ")+(/" LAPIDARY_PATH "*)*)?" LAPIDARY_AFTER_PATH ")$",
     ""},
    {"iri-reference",
     "^(" LAPIDARY_URI "|/?(([a-zA-Z0-9._~!$&'()*+,;=@-]|" LAPIDARY_PERCENT ")+(/" LAPIDARY_PATH
     "*)*)?" LAPIDARY_AFTER_PATH ")$",
     ""},
    {"uri-template",
     "^([a-zA-Z0-9._~!$&'()*+,;=:@/?#-]|" LAPIDARY_PERCENT "|\\{[+#./;?&]?[a-zA-Z0-9_]+(,[a-zA-Z0-9_]+)*\\})*$", ""},
    {"json-pointer", "^" LAPIDARY_POINTER "$", "^(/|$)"},
    {"relative-json-pointer", "^(0|[1-9]\\d*)(#|" LAPIDARY_POINTER ")$", "^\\d"},
    // Not every regular expression: those without what could be wrong about them.
    {"regex", "^" LAPIDARY_BRANCH "(\\|" LAPIDARY_BRANCH ")*$", ""},
});

#undef LAPIDARY_YEAR
#undef LAPIDARY_LEAP_DAY
#undef LAPIDARY_DATE
#undef LAPIDARY_TIME
#undef LAPIDARY_LABEL
#undef LAPIDARY_HOST
#undef LAPIDARY_OCTET
#undef LAPIDARY_IPV4
#undef LAPIDARY_GROUP
#undef LAPIDARY_PERCENT
#undef LAPIDARY_PATH
#undef LAPIDARY_QUERY
#undef LAPIDARY_AFTER_PATH
#undef LAPIDARY_AUTHORITY
#undef LAPIDARY_URI
#undef LAPIDARY_POINTER
#undef LAPIDARY_ONE
#undef LAPIDARY_TIMES
#undef LAPIDARY_BRANCH
#undef LAPIDARY_HOURS
#undef LAPIDARY_DAYS

}  // namespace

const TextFormat* find_text_format(std::string_view name) {
    const auto known = std::ranges::find(kFormats, name, &TextFormat::name);
    return known == kFormats.end() ? nullptr : &*known;
}

}  // namespace lapidary::grammar
