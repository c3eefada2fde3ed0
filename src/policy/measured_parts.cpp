// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/measured_parts.h"

#include "base/error.h"
#include "kernels/window_importance.h"
#include "policy/damaged_rows.h"
#include "policy/input_checks.h"
#include "policy/key_reuse.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace ecokv::policy {

namespace {

std::size_t bytesOf(const std::vector<float>& numbers) {
    return numbers.size() * sizeof(float);
}

float* floatsIn(const kernels::DeviceBuffer& buffer) {
    return static_cast<float*>(buffer.data());
}

/// Writes `part` [kvHead, range] into `whole` [kvHead, tokens].
void place(const std::vector<float>& part, TokenRange range, std::int64_t tokens,
           std::vector<float>& whole) {
    const std::int64_t count = range.count;
    for (std::size_t head = 0; count > 0 && head < part.size() / count; ++head) {
        std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(head * count), count,
                    whole.begin() + static_cast<std::ptrdiff_t>(head * tokens + range.first));
    }
}

/// |row| of `rows` [kvHead, token, dim] as [kvHead, token] f32 beside it.
kernels::DeviceBuffer measuredNorms(const TensorView& rows, const KernelPlace& where,
                                    const char* what) {
    const std::int64_t count = rows.shape[0] * rows.shape[1];
    const kernels::DeviceBuffer cosine = where.floats(count);
    const kernels::DeviceBuffer euclid = where.floats(count);
    kernels::DeviceBuffer norm = where.floats(count);
    std::vector<kernels::HeadStatistics> heads(static_cast<std::size_t>(rows.shape[0]));
    where.check(
        kernels::keyStatistics({rows, nullptr},
                               {floatsIn(cosine), floatsIn(euclid), floatsIn(norm), heads.data()},
                               where.backend),
        what);
    return norm;
}

/// Norms of the protected tokens, before and after the candidates.
void measureProtectedNorms(const LayerInput& input, KeyMeasurement& measured) {
    const TokenRange& candidates = measured.candidates;
    for (const TokenRange& range :
         {TokenRange{0, candidates.first},
          TokenRange{candidates.end(), measured.tokens - candidates.end()}}) {
        if (range.count > 0) {
            const TensorView rows = input.keys.slice(1, range.first, range.end());
            const auto norms = measuredNorms(rows, measured.place, "key norms");
            place(measured.place.toHost(norms), range, measured.tokens, measured.norm);
        }
    }
}

/// `sums` may be null.
void measureCandidates(const LayerInput& input, KeyMeasurement& measured, kernels::KeySums* sums) {
    const TokenRange& candidates = measured.candidates;
    const std::int64_t count = measured.kvHeads * candidates.count;
    const kernels::DeviceBuffer norm = measured.place.floats(count);
    measured.cosine = measured.place.floats(count);
    measured.euclid = measured.place.floats(count);
    if (count == 0) {
        return;
    }
    kernels::Rotation rotation;
    const bool unrotate = measured.geometry == Geometry::Pre;
    if (unrotate) {
        rotation = input.rotation->from(candidates.first);
    }
    const TensorView keys = input.keys.slice(1, candidates.first, candidates.end());
    const kernels::KeyStatisticsInput wanted{keys, unrotate ? &rotation : nullptr};
    const kernels::KeyStatisticsOutput output{floatsIn(measured.cosine), floatsIn(measured.euclid),
                                              floatsIn(norm), measured.heads.data()};
    measured.place.check(sums != nullptr
                             ? kernels::keyStatistics(wanted, output, *sums)
                             : kernels::keyStatistics(wanted, output, measured.place.backend),
                         "key statistics");
    place(measured.place.toHost(norm), candidates, measured.tokens, measured.norm);
}

struct KeyTask {
    const LayerInput& input;
    TokenRange candidates;
    Geometry geometry = Geometry::Post;
    kernels::Backend backend = kernels::Backend::Cpu;
    kernels::KeySums* sums = nullptr;
};

std::shared_ptr<const KeyMeasurement> measured(const KeyTask& task) {
    const LayerInput& input = task.input;
    const TokenRange& candidates = task.candidates;
    checkKeys(input, task.geometry);
    const std::int64_t tokens = input.keys.shape[1];
    if (candidates.first < 0 || candidates.count < 0 || candidates.end() > tokens) {
        throwInternal(fmt::format("Candidates {} to {} of {} tokens were asked for.",
                                  candidates.first, candidates.end(), tokens));
    }
    auto result = std::make_shared<KeyMeasurement>();
    result->place = KernelPlace::beside(input.keys, input.layer, task.backend);
    result->firstHead = input.firstHead;
    result->kvHeads = input.keys.shape[0];
    result->tokens = tokens;
    result->candidates = candidates;
    result->geometry = task.geometry;
    result->heads.resize(static_cast<std::size_t>(result->kvHeads));
    result->norm.resize(static_cast<std::size_t>(result->kvHeads * tokens));
    measureCandidates(input, *result, task.sums);
    measureProtectedNorms(input, *result);
    result->notes = damagedKeys(input, result->norm);
    return result;
}

} // namespace

std::size_t KeyMeasurement::bytes() const {
    return cosine.bytes() + euclid.bytes() + bytesOf(norm) +
           heads.size() * sizeof(kernels::HeadStatistics);
}

std::size_t WindowMeasurement::bytes() const {
    return attention.bytes();
}

std::size_t ValueMeasurement::bytes() const {
    return onDevice.bytes() + bytesOf(norm);
}

std::shared_ptr<const KeyMeasurement> measureKeys(const LayerInput& input, TokenRange candidates,
                                                  Geometry geometry, kernels::Backend backend) {
    return measured({input, candidates, geometry, backend, nullptr});
}

kernels::KeySums keySumsFor(const LayerInput& input, std::int64_t first, Geometry geometry) {
    return {input.keys.shape[0], input.keys.shape[1] - first, input.keys.shape[2],
            geometry == Geometry::Pre};
}

std::shared_ptr<const KeyMeasurement> measureKeys(const LayerInput& input, TokenRange candidates,
                                                  Geometry geometry, kernels::KeySums& sums) {
    return measured({input, candidates, geometry, kernels::Backend::Cpu, &sums});
}

std::shared_ptr<const WindowMeasurement> measureWindow(const LayerInput& input, std::int64_t window,
                                                       kernels::Backend backend) {
    checkWindow(input, window);
    auto measured = std::make_shared<WindowMeasurement>();
    measured->place = KernelPlace::beside(input.keys, input.layer, backend);
    measured->window = window;
    measured->attention = measured->place.floats(input.keys.shape[0] * input.keys.shape[1]);
    const std::int64_t rows = input.windowQueries.shape[1];
    const kernels::WindowImportanceInput attention{
        .queries = input.windowQueries.slice(1, rows - window, rows),
        .keys = input.keys,
        .queryPositions = input.windowPositions.data() + (rows - window),
        .keyPositions = input.positions.data(),
    };
    measured->place.check(
        kernels::windowImportance(attention, floatsIn(measured->attention), backend),
        "window importance");
    measured->notes = damagedQueries(input, window);
    return measured;
}

std::shared_ptr<const ValueMeasurement> measureValues(const LayerInput& input,
                                                      kernels::Backend backend) {
    checkValues(input);
    auto measured = std::make_shared<ValueMeasurement>();
    measured->place = KernelPlace::beside(input.keys, input.layer, backend);
    measured->present = input.values.data != nullptr;
    if (!measured->present) {
        const std::int64_t count = input.keys.shape[0] * input.keys.shape[1];
        measured->norm.assign(static_cast<std::size_t>(count), std::nanf(""));
        return measured;
    }
    measured->onDevice = measuredNorms(input.values, measured->place, "value norms");
    measured->norm = measured->place.toHost(measured->onDevice);
    measured->notes = damagedValues(input, measured->norm);
    return measured;
}

} // namespace ecokv::policy
