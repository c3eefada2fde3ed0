// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/weight_loader.h"

#include "refusal.h"
#include "temporary_folder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ATen/Functions.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace ecokv::model {

namespace {

struct Entry {
    const char* name;
    const char* dtype;
    const char* shape;
    std::string data;
};

/// A safetensors file; `padding` blanks behind the header shift the data.
std::string fileOf(const std::vector<Entry>& entries, std::size_t padding = 0) {
    std::string header = "{";
    std::string data;
    for (const Entry& entry : entries) {
        header += fmt::format(R"({}"{}":{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})",
                              header.size() > 1 ? "," : "", entry.name, entry.dtype, entry.shape,
                              data.size(), data.size() + entry.data.size());
        data += entry.data;
    }
    header += '}';
    header.append(padding, ' ');
    std::string length;
    for (std::size_t i = 0; i < 8; ++i) {
        length += static_cast<char>(header.size() >> (8 * i) & 0xff);
    }
    return length + header + data;
}

template <class T> std::string bytesOf(std::initializer_list<T> values) {
    std::string bytes;
    for (const T value : values) {
        char raw[sizeof value];
        std::memcpy(raw, &value, sizeof value);
        bytes.append(raw, sizeof value);
    }
    return bytes;
}

std::string everyByte() {
    std::string bytes;
    for (int code = 0; code < 256; ++code) {
        bytes += static_cast<char>(code);
    }
    return bytes;
}

/// A float of 8 bits by the definition of its format: sign, exponent, mantissa.
float smallFloat(int code, int exponentBits, int bias) {
    const int mantissaBits = 7 - exponentBits;
    const int exponent = code >> mantissaBits & ((1 << exponentBits) - 1);
    const int mantissa = code & ((1 << mantissaBits) - 1);
    const float fraction = std::ldexp(static_cast<float>(mantissa), -mantissaBits);
    const float magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias)
                                          : std::ldexp(1.0F + fraction, exponent - bias);
    return code >= 128 ? -magnitude : magnitude;
}

struct Opened {
    TemporaryFolder folder;
    Checkpoint checkpoint;
    WeightLoader loader;

    explicit Opened(const std::string& file, DType dtype = DType::F32)
        : checkpoint((folder.write("model.safetensors", file), Checkpoint::open(folder.path()))),
          loader(checkpoint, {}, {.dtype = dtype, .device = {}, .progress = {}, .cancel = {}}) {}
};

std::vector<float> valuesOf(const at::Tensor& tensor) {
    const at::Tensor flat = tensor.to(at::kFloat).contiguous();
    return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

} // namespace

TEST(WeightLoader, convertsEveryFloatingPointTypeExactly) { // F093
    Opened opened(fileOf({
        {"f64", "F64", "[3]", bytesOf<double>({1.5, -0.1, 1e300})},
        {"f32", "F32", "[2]", bytesOf<float>({1.5F, -0.1F})},
        {"bf16", "BF16", "[3]", bytesOf<std::uint16_t>({0x3fc0, 0xbdcd, 0x0001})},
        {"f16", "F16", "[3]", bytesOf<std::uint16_t>({0x3e00, 0x0001, 0xfbff})},
    }));
    EXPECT_EQ(valuesOf(opened.loader.take("f64", {3})),
              (std::vector<float>{1.5F, -0.1F, std::numeric_limits<float>::infinity()}));
    EXPECT_EQ(valuesOf(opened.loader.take("f32", {2})), (std::vector<float>{1.5F, -0.1F}));
    EXPECT_EQ(valuesOf(opened.loader.take("bf16", {3})),
              (std::vector<float>{1.5F, -0.10009765625F, 9.183549615799121e-41F}));
    EXPECT_EQ(valuesOf(opened.loader.take("f16", {3})),
              (std::vector<float>{1.5F, 5.9604644775390625e-08F, -65504.0F}));
    opened.loader.finish("the folder");
}

TEST(WeightLoader, convertsAll256CodesOfTheEightBitFloats) { // F093
    Opened opened(
        fileOf({{"a", "F8_E4M3", "[256]", everyByte()}, {"b", "F8_E5M2", "[256]", everyByte()}}));
    const auto a = valuesOf(opened.loader.take("a", {256}));
    const auto b = valuesOf(opened.loader.take("b", {256}));
    for (int code = 0; code < 256; ++code) {
        const auto i = static_cast<std::size_t>(code);
        if ((code & 0x7f) == 0x7f) { // the only NaN of E4M3, which has no infinity
            EXPECT_TRUE(std::isnan(a[i])) << code;
        } else {
            EXPECT_EQ(a[i], smallFloat(code, 4, 7)) << code;
        }
        if ((code & 0x7c) != 0x7c) {
            EXPECT_EQ(b[i], smallFloat(code, 5, 15)) << code;
        } else {
            EXPECT_EQ(std::isinf(b[i]), (code & 3) == 0) << code;
        }
    }
}

TEST(WeightLoader, weightsOfTheWantedTypeStayViewsOfTheFile) {
    const Entry five{"w", "BF16", "[1,1,1,1,2]", bytesOf<std::uint16_t>({0x3f80, 0x4000})};
    for (const std::size_t padding : {0U, 1U}) {
        const std::string file = fileOf({five}, padding);
        Opened opened(file, DType::BF16);
        const at::Tensor weight = opened.loader.take("w", {1, 1, 1, 1, 2});
        const auto* stored = opened.checkpoint.find("w")->bytes.data();
        const bool aligned = reinterpret_cast<std::uintptr_t>(stored) % 2 == 0;
        EXPECT_EQ(weight.data_ptr() == stored, aligned) << padding;
        EXPECT_EQ(valuesOf(weight), (std::vector<float>{1.0F, 2.0F}));
    }
}

TEST(WeightLoader, namesEverythingThatDoesNotFitAtOnce) { // F093 too
    const std::string one = bytesOf<float>({1.0F});
    Opened opened(fileOf({{"extra.one", "F32", "[1]", one},
                          {"extra.two", "F32", "[1]", one},
                          {"flat", "F32", "[1]", one},
                          {"ids", "I64", "[1]", std::string(8, '\0')},
                          {"mask", "BOOL", "[1]", "\1"},
                          {"packed", "F4", "[2]", "x"},
                          {"right", "F32", "[1]", one}}));
    EXPECT_TRUE(opened.loader.take("right", {1}).defined());
    for (const char* name : {"ids", "mask", "absent", "absent.too"}) {
        EXPECT_FALSE(opened.loader.take(name, {1}).defined()) << name;
    }
    EXPECT_FALSE(opened.loader.take("packed", {2}).defined());
    EXPECT_FALSE(opened.loader.take("flat", {2, 3}).defined());
    const std::string said = refusal([&] { opened.loader.finish("the folder"); });
    EXPECT_SAYS(said, "Missing (2): absent [1], absent.too [1].");
    EXPECT_SAYS(said, "Of another shape (1): flat is F32 [1], wanted [2, 3].");
    EXPECT_SAYS(said, "not supported (3): ids is I64 [1], mask is BOOL [1], packed is F4 [2].");
    EXPECT_SAYS(said, "Described by nothing (2): extra.one, extra.two.");
    EXPECT_SAYS(said, "the folder");
}

} // namespace ecokv::model
