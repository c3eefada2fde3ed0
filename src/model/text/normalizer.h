#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The normaliser of a tokenizer.json: nothing, or Unicode forms NFC, NFD, NFKC, NFKD in sequence
// (field case F111). Others are refused by name.

#include "model/json_file.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ecokv::model {

enum class UnicodeForm : std::uint8_t { Nfc, Nfd, Nfkc, Nfkd };

class Normalizer {
public:
    Normalizer() = default; ///< changes nothing
    static Normalizer fromJson(const Json* node, const std::string& origin);

    std::string apply(std::string_view text) const;
    bool empty() const { return m_forms.empty(); }

private:
    void add(const Json& node, const std::string& origin);

    std::vector<UnicodeForm> m_forms;
};

} // namespace ecokv::model
