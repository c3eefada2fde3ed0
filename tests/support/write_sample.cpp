// SPDX-License-Identifier: GPL-3.0-or-later
// Writes the sample trace for tests in other languages: write_sample FILE
// [float32|bfloat16|float16] [compact].
#include "support/sample_trace.h"

#include "base/error.h"

#include <cstdio>
#include <string_view>

namespace {

ecokv::DType dtypeNamed(std::string_view name) {
    for (const auto dtype : {ecokv::DType::F32, ecokv::DType::BF16, ecokv::DType::F16}) {
        if (name == ecokv::dtypeName(dtype)) {
            return dtype;
        }
    }
    ecokv::throwUsage("The storage type is float32, bfloat16 or float16.");
}

} // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 2) {
            ecokv::throwUsage("write_sample FILE [float32|bfloat16|float16] [compact]");
        }
        ecokv::test::SampleOptions options;
        options.storage = argc > 2 ? dtypeNamed(argv[2]) : ecokv::DType::F32;
        options.compact = argc > 3 && std::string_view(argv[3]) == "compact";
        ecokv::test::writeSampleTrace(argv[1], options);
        return 0;
    } catch (const ecokv::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return error.kind() == ecokv::ErrorKind::Usage ? 2 : 3;
    }
}
