// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/cache_layout.h"

#include "base/error.h"

#include <fmt/format.h>

#include <map>

namespace ecokv::trace {

const CacheDatasetDoc& cacheDatasetDoc(const std::string& name) {
    static const std::map<std::string, CacheDatasetDoc> docs{
        {"token_ids", {"Entry of the vocabulary, the whole prompt", {"token"}}},
        {"probe", {"Logits of a fixed input, by which the weights are known again", {"token"}}},
        {"lengths", {"Tokens that KV head holds", {"kv_head"}}},
        {"positions", {"Position in the prompt; rows of KV head 0 first, then head 1", {"row"}}},
        {"keys", {"Keys as cached, after rotary embedding; rows as in positions", {"row", "dim"}}},
        {"values", {"Values as cached; rows as in positions", {"row", "dim"}}},
        {"window_positions", {"Position of each query row", {"window"}}},
        {"window_queries",
         {"Queries of the last prompt tokens, for evictions while answering",
          {"window", "head", "dim"}}},
    };
    const auto found = docs.find(name);
    if (found == docs.end()) {
        throwInternal(fmt::format("A saved cache has no dataset {}.", name));
    }
    return found->second;
}

} // namespace ecokv::trace
