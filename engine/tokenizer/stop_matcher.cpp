#include "tokenizer/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace lapidary::tokenizer {

StopMatcher::StopMatcher(std::vector<std::string> stops) {
    for (size_t i = 0; i < stops.size(); ++i) {
        if (stops[i].empty()) continue;
        Stop stop{std::move(stops[i]), i, {0, 0}};
        // The table is what the stop string finds of itself within itself, from its second byte on.
        for (size_t n = 1; n < stop.text.size(); ++n) {
            advance(stop, stop.text[n]);
            stop.fallback.push_back(stop.seen);
        }
        stop.seen = 0;
        stops_.push_back(std::move(stop));
    }
}

void StopMatcher::advance(Stop& stop, char c) {
    while (stop.seen > 0 && stop.text[stop.seen] != c) stop.seen = stop.fallback[stop.seen];
    if (stop.text[stop.seen] == c) ++stop.seen;
}

std::string StopMatcher::feed(std::string_view text) {
    if (stopped()) return {};
    for (const char c : text) {
        held_ += c;
        const Stop* found = nullptr;
        for (Stop& stop : stops_) {
            advance(stop, c);
            if (stop.seen == stop.text.size() && (found == nullptr || found->text.size() < stop.seen)) found = &stop;
        }
        if (found != nullptr) {
            matched_ = found->index;
            held_.resize(held_.size() - found->text.size());
            return std::exchange(held_, {});
        }
    }
    size_t keep = 0;
    for (const Stop& stop : stops_) keep = std::max<size_t>(keep, stop.seen);
    std::string out = held_.substr(0, held_.size() - keep);
    held_.erase(0, out.size());
    return out;
}

std::string StopMatcher::finish() {
    for (Stop& stop : stops_) stop.seen = 0;
    matched_.reset();
    return std::exchange(held_, {});
}

}  // namespace lapidary::tokenizer
