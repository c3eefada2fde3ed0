// SPDX-License-Identifier: GPL-3.0-or-later
// Commands of ecokv_model_probe on texts: tokenizers and chat templates.
#include "probe_commands.h"

#include "base/error.h"
#include "model/jinja/template.h"
#include "model/text/chat_template.h"
#include "model/text/stream_decoder.h"
#include "model/text/tokenizer.h"
#include "model/text/utf8.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <optional>

namespace ecokv::model {

namespace {

/// Calls `work` and turns its error into {"error": message}.
Json guarded(const std::function<Json()>& work) {
    try {
        return work();
    } catch (const Error& error) {
        return {{"error", error.what()}};
    }
}

/// Ids decoded one by one, as a running generation does.
struct Stream {
    std::string text;
    bool whole = true; ///< no piece began or ended inside a character
};

Stream streamed(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
    StreamDecoder decoder(tokenizer, false);
    Stream stream;
    const auto add = [&](const std::string& piece) {
        stream.text += piece;
        stream.whole = stream.whole && isValidUtf8(piece);
    };
    for (const TokenId id : ids) {
        add(decoder.push(id));
    }
    add(decoder.finish());
    return stream;
}

std::vector<TokenId> encodeOrTake(const Tokenizer& tokenizer, const Json& item) {
    return item.contains("ids")
               ? item.at("ids").get<std::vector<TokenId>>()
               : tokenizer.encode(item.at("text").get<std::string>(), item.value("special", false));
}

/// Processor time, the shortest of three runs: other programs only make it longer.
double secondsOf(const std::function<void()>& work) {
    double shortest = std::numeric_limits<double>::infinity();
    for (int run = 0; run < 3; ++run) {
        const std::clock_t begin = std::clock();
        work();
        shortest = std::min(shortest, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    }
    return shortest;
}

} // namespace

Json readInput() {
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    return parseJson(text, "stdin");
}

Json tokenize(const Words& words) {
    const Tokenizer tokenizer = std::filesystem::is_directory(words.at(0))
                                    ? Tokenizer::open(words.at(0))
                                    : Tokenizer::fromJson(readTextFile(words.at(0)), words.at(0));
    Json results = Json::array();
    for (const Json& item : readInput()) {
        results.push_back(guarded([&]() -> Json {
            const auto ids = encodeOrTake(tokenizer, item);
            const Stream stream = streamed(tokenizer, ids);
            return {{"ids", ids},
                    {"decoded", tokenizer.decode(ids, false)},
                    {"skipped", tokenizer.decode(ids, true)},
                    {"streamed", stream.text},
                    {"whole", stream.whole}};
        }));
    }
    return results;
}

/// Seconds to open, to encode a file and to decode its ids.
Json timeTokenizer(const Words& words) {
    const std::string text = readTextFile(words.at(1));
    std::optional<Tokenizer> tokenizer;
    std::vector<TokenId> ids;
    const double open =
        secondsOf([&] { tokenizer = Tokenizer::fromJson(readTextFile(words.at(0)), words.at(0)); });
    const double encode = secondsOf([&] { ids = tokenizer->encode(text, false); });
    const double decode = secondsOf([&] { tokenizer->decode(ids, false); });
    return {{"open", open}, {"encode", encode}, {"decode", decode}, {"ids", ids}};
}

Json renderTemplates(const Words& /*words*/) {
    Json results = Json::array();
    for (const Json& item : readInput()) {
        results.push_back(guarded([&]() -> Json {
            const auto parsed =
                jinja::Template::parse(item.at("source").get<std::string>(), "template");
            return {{"text", parsed.render(item.at("variables"))}};
        }));
    }
    return results;
}

Json renderChat(const Words& words) {
    const auto chatTemplate = ChatTemplate::open(words.at(0));
    if (!chatTemplate) {
        return {{"origin", nullptr}};
    }
    std::vector<ChatMessage> messages;
    for (const Json& item : readInput()) {
        messages.push_back({item.at("role"), item.at("text"), item.value("images", 0)});
    }
    const RenderedChat chat = chatTemplate->render(messages, "<image>");
    return {{"origin", chatTemplate->origin()},
            {"text", chat.text},
            {"parts", chat.contentAsParts},
            {"notes", chat.notes}};
}

/// The folder's template with its special tokens and the variables that are given.
Json renderVariables(const Words& words) {
    const auto chatTemplate = ChatTemplate::open(words.at(0));
    Json results = Json::array();
    for (const Json& variables : readInput()) {
        results.push_back(guarded([&]() -> Json {
            return {{"text", chatTemplate->renderRaw(variables)}};
        }));
    }
    return results;
}

} // namespace ecokv::model
