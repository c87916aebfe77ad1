// What crosses the door as JSON. Arguments, results and events are structs, each with a table of its members, and one
// reader, one writer and what makes documents of them (api/schema.h) know no more than these tables: a method costs a table, not code.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "chat/json.h"

namespace lapidary::api {

using Json = chat::Json;
using Id = uint32_t;  // of a model, a session, a source …

// JavaScript's numbers are doubles: sizes of files are exact up to 2⁵³.
inline constexpr int64_t kMaxFileBytes = int64_t{1} << 53;

// How a member is kept in C++. Of arguments an id and a text must be given unless their table says maybe(); what else is not
// given is as the struct has it. What is maybe_ may be missing in a result too.
enum class Kind : uint8_t {
    id,             // Id
    integer,        // int64_t
    number,         // double
    boolean,        // bool
    text,           // std::string
    maybe_integer,  // std::optional of these
    maybe_number,
    maybe_boolean,
    maybe_text,
    texts,     // std::vector<std::string>; one text will do in arguments
    integers,  // std::vector<int64_t>
    numbers,   // std::vector<double>
    object,    // a struct with a table
    maybe_object,
    list,  // std::vector of such structs
    json,  // Json: read by whom it is for; null is not there
};

// What only documents and types want: it is not part of a WebAssembly module.
#ifdef __wasm__
struct Note {
    static constexpr const char* text = "";
    consteval Note(const char* /*given*/) {}  // NOLINT(google-explicit-constructor)
};
#else
struct Note {
    const char* text = "";
    consteval Note(const char* given) : text(given) {}  // NOLINT(google-explicit-constructor)
};
#endif

struct Nested;

struct Field {
    using Items = std::span<const std::byte> (*)(const void*);
    using Add = void* (*)(void*);

    const char* name;
    const Nested* nested = nullptr;  // of an object, and of a list's items
    union {
        Items items = nullptr;  // what is in a list, and in a maybe_object, that is written
        Add add;                // another item at the end of a list that is read
    };
    int32_t low = 0;  // of integers; of lists `high` is how many there may be
    int64_t high = 0;
    uint16_t offset = 0;
    Kind kind = Kind::text;
    bool needed = false;
    [[no_unique_address]] Note about = "";
    [[no_unique_address]] Note type = "";  // in TypeScript, where it says more than the kind

    [[nodiscard]] consteval Field between(int32_t lowest, int64_t highest) const {
        Field out = *this;
        out.low = lowest;
        out.high = highest;
        return out;
    }
    [[nodiscard]] consteval Field at_most(int64_t count) const { return between(0, count); }
    [[nodiscard]] consteval Field maybe() const {
        Field out = *this;
        out.needed = false;
        return out;
    }
    [[nodiscard]] consteval Field required() const {
        Field out = *this;
        out.needed = true;
        return out;
    }
    // As TypeScript says it: "'cpu' | 'gpu'".
    [[nodiscard]] consteval Field as(Note in_typescript) const {
        Field out = *this;
        out.type = in_typescript;
        return out;
    }
};

struct Nested {
    Note name;
    std::span<const Field> fields;
    size_t size;
};

// The table of a struct. MESSAGE makes it.
template <class T>
inline constexpr std::nullptr_t kFields = nullptr;
template <class T>
inline constexpr const char* kMessageName = "";
template <class T>
inline constexpr Nested kNested{kMessageName<T>, kFields<T>, sizeof(T)};

template <class T>
struct MaybeOf {};
template <class T>
struct MaybeOf<std::optional<T>> {
    using Inside = T;
};
template <class T>
struct ListOf {};
template <class T>
struct ListOf<std::vector<T>> {
    using Item = T;
};

template <class T>
std::span<const std::byte> items_of(const void* list) {
    const auto& items = *static_cast<const std::vector<T>*>(list);
    return {reinterpret_cast<const std::byte*>(items.data()), items.size() * sizeof(T)};
}
template <class T>
std::span<const std::byte> inside_of(const void* maybe) {
    const auto& value = *static_cast<const std::optional<T>*>(maybe);
    if (!value) return {};
    return {reinterpret_cast<const std::byte*>(&*value), sizeof(T)};
}
template <class T>
void* add_to(void* list) {
    return &static_cast<std::vector<T>*>(list)->emplace_back();
}

// `kRead`: the struct is one of arguments.
template <class T, bool kRead>
consteval Field field(const char* name, size_t offset, Note about) {
    Field out{.name = name, .offset = uint16_t(offset), .about = about};
    if constexpr (std::is_same_v<T, Id>) {
        out.kind = Kind::id;
    } else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, std::optional<int64_t>>) {
        out.kind = std::is_same_v<T, int64_t> ? Kind::integer : Kind::maybe_integer;
        if (kRead) out.high = kMaxFileBytes;
    } else if constexpr (std::is_same_v<T, double>) {
        out.kind = Kind::number;
    } else if constexpr (std::is_same_v<T, std::optional<double>>) {
        out.kind = Kind::maybe_number;
    } else if constexpr (std::is_same_v<T, bool>) {
        out.kind = Kind::boolean;
    } else if constexpr (std::is_same_v<T, std::optional<bool>>) {
        out.kind = Kind::maybe_boolean;
    } else if constexpr (std::is_same_v<T, std::string>) {
        out.kind = Kind::text;
    } else if constexpr (std::is_same_v<T, std::optional<std::string>>) {
        out.kind = Kind::maybe_text;
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        out.kind = Kind::texts;
    } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
        out.kind = Kind::integers;
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
        out.kind = Kind::numbers;
    } else if constexpr (std::is_same_v<T, Json>) {
        out.kind = Kind::json;
    } else if constexpr (requires { typename MaybeOf<T>::Inside; }) {
        using Inside = typename MaybeOf<T>::Inside;
        static_assert(!kRead, "arguments have no optional objects: what is not given is as the struct has it");
        out.kind = Kind::maybe_object;
        out.nested = &kNested<Inside>;
        out.items = &inside_of<Inside>;
    } else if constexpr (requires { typename ListOf<T>::Item; }) {
        using Item = typename ListOf<T>::Item;
        out.kind = Kind::list;
        out.nested = &kNested<Item>;
        if constexpr (kRead) {
            out.add = &add_to<Item>;
        } else {
            out.items = &items_of<Item>;
        }
    } else {
        out.kind = Kind::object;
        out.nested = &kNested<T>;
    }
    out.needed = kRead && (out.kind == Kind::id || out.kind == Kind::text);
    return out;
}

// ARGUMENTS(SessionSaveArgs, MEMBER(session, "…"), MEMBER(sink, "…")) after the struct; MESSAGE is the same for what is written.
// Structs of both kinds are declared with MESSAGE_NAME first where another one of them is a member.
#define MEMBER(member, ...) field<decltype(Self::member), kRead>(#member, offsetof(Self, member), __VA_ARGS__)
#define LAPIDARY_TABLE(Type, read, ...)                      \
    template <>                                              \
    inline constexpr const char* kMessageName<Type> = #Type; \
    template <>                                              \
    inline constexpr auto kFields<Type> = [] {               \
        using Self = Type;                                   \
        constexpr bool kRead [[maybe_unused]] = read;        \
        return std::to_array<Field>({__VA_ARGS__});          \
    }()
#define ARGUMENTS(Type, ...) LAPIDARY_TABLE(Type, true, __VA_ARGS__)
#define MESSAGE(Type, ...) LAPIDARY_TABLE(Type, false, __VA_ARGS__)

// Errors name the member. A member that is absent or null counts as not given; others than the table's are not looked at.
Status read_fields(const Json& object, std::span<const Field> fields, void* out);
Json written_fields(std::span<const Field> fields, const void* from);
// For what can only be checked later, with the same sentence.
Status check_between(const char* name, int64_t value, int64_t low, int64_t high);

template <class T>
Status read_message(const Json& object, T& out) {
    return read_fields(object, kFields<T>, &out);
}
template <class T>
Json written(const T& message) {
    return written_fields(kFields<T>, &message);
}
template <class T>
Json written_list(const std::vector<T>& messages) {
    Json out = Json::array();
    for (const T& message : messages) out.push_back(written(message));
    return out;
}

}  // namespace lapidary::api
