// SPDX-License-Identifier: GPL-3.0-or-later
// Our side of whole_model.py: opens a model once and times what it is told.
//
//   whole_model_ours FOLDER f32|bf16 THREADS
//
// One JSON object a line on stdin: {"tokens": [id, ...], "steps": n}; answered by one line:
// {"prefill": seconds, "decode": seconds, "chosen": [id, ...], "logits": [of the last token of the
// prompt]}. Both are timed on an emptied cache; decoding is greedy.

#include "base/error.h"
#include "base/stop_watch.h"
#include "model/model.h"

#include <nlohmann/json.hpp>

#include <iostream>
#include <string>

namespace {

using namespace ecokv;
using Json = nlohmann::json;

Json answer(model::Model& model, const Json& request) {
    model::Prompt prompt;
    prompt.tokenIds = request.at("tokens").get<std::vector<TokenId>>();
    prompt.tokenKind.assign(prompt.tokenIds.size(), model::TokenKind::Text);
    prompt.imageIndex.assign(prompt.tokenIds.size(), -1);
    cache::KvCache cache(model.cacheShape());
    const StopWatch prefill;
    std::vector<float> logits = model.prefill(prompt, cache, nullptr, {}, {});
    const double prefillSeconds = prefill.seconds();

    Json result{{"prefill", prefillSeconds}, {"logits", logits}};
    model::Sampler sampler({});
    std::vector<TokenId> chosen;
    const StopWatch decode;
    for (int step = 0; step < request.at("steps").get<int>(); ++step) {
        chosen.push_back(sampler.next(logits));
        logits = model.decode(chosen.back(), cache, {});
    }
    result["decode"] = decode.seconds();
    result["chosen"] = chosen;
    return result;
}

} // namespace

int main(int count, char** arguments) {
    if (count != 4) {
        std::cerr << "usage: whole_model_ours FOLDER f32|bf16 THREADS\n";
        return 2;
    }
    try {
        model::LoadOptions options;
        options.dtype = std::string(arguments[2]) == "bf16" ? model::ComputeDType::BF16
                                                            : model::ComputeDType::F32;
        options.threads = std::stoi(arguments[3]);
        const auto model = model::Model::open(arguments[1], options);
        for (std::string line; std::getline(std::cin, line);) {
            std::cout << answer(*model, Json::parse(line)).dump() << std::endl;
        }
        return 0;
    } catch (const Error& error) {
        std::cerr << error.message() << ' ' << error.advice() << '\n';
        return 1;
    }
}
