// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/sha256.h"

#include "base/error.h"

#include <array>

#include <fmt/format.h>
#include <openssl/evp.h>

namespace ecokv::model {

struct Sha256::Context {
    EVP_MD_CTX* digest = EVP_MD_CTX_new();
    ~Context() { EVP_MD_CTX_free(digest); }
};

Sha256::Sha256() : m_context(std::make_unique<Context>()) {
    if (EVP_DigestInit_ex(m_context->digest, EVP_sha256(), nullptr) != 1) {
        throwInternal("OpenSSL offers no SHA-256.");
    }
}

Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) {
    if (EVP_DigestUpdate(m_context->digest, bytes.data(), bytes.size()) != 1) {
        throwInternal("OpenSSL failed to hash a block.");
    }
}

std::string Sha256::hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned int length = 0;
    if (EVP_DigestFinal_ex(m_context->digest, bytes.data(), &length) != 1) {
        throwInternal("OpenSSL failed to end a hash.");
    }
    std::string text;
    for (unsigned int i = 0; i < length; ++i) {
        text += fmt::format("{:02x}", bytes[i]);
    }
    return text;
}

std::string sha256Hex(std::string_view bytes) {
    Sha256 hash;
    hash.update(std::as_bytes(std::span(bytes.data(), bytes.size())));
    return hash.hex();
}

} // namespace ecokv::model
