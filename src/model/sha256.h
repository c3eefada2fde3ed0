#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// SHA-256 as lower-case hexadecimal, for provenance. Any thread.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ecokv::model {

class Sha256 {
public:
    Sha256();
    ~Sha256();
    void update(std::span<const std::byte> bytes);
    std::string hex(); ///< ends the digest; call once

private:
    struct Context;
    std::unique_ptr<Context> m_context;
};

std::string sha256Hex(std::string_view bytes);

} // namespace ecokv::model
