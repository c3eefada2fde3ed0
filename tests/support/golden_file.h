#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Reads the golden cases under tests/data/golden (HDF5, made by an independent numpy program from
// the definition ecokv-1). Throws std::runtime_error naming file and object. One thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ecokv::test {

struct GoldenArray {
    std::vector<std::int64_t> shape;
    std::vector<double> values; ///< row-major

    std::vector<float> floats() const { return {values.begin(), values.end()}; }
    std::vector<std::int64_t> integers() const { return {values.begin(), values.end()}; }
};

class GoldenFile {
public:
    /// `name` without folder: "plain.h5".
    explicit GoldenFile(const std::string& name);
    ~GoldenFile();
    GoldenFile(const GoldenFile&) = delete;
    GoldenFile& operator=(const GoldenFile&) = delete;

    GoldenArray read(const std::string& dataset) const;
    /// Names of the links in a group, sorted.
    std::vector<std::string> children(const std::string& group) const;
    std::optional<double> number(const std::string& object, const char* attribute) const;
    std::optional<std::string> text(const std::string& object, const char* attribute) const;

private:
    std::int64_t openAttribute(const std::string& object, const char* attribute) const;

    std::string m_name;
    std::int64_t m_file = -1;
};

} // namespace ecokv::test
