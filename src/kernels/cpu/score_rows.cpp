// SPDX-License-Identifier: GPL-3.0-or-later
// Loops plain enough for the compiler; Highway compiles them once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/score_rows.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep
#include <hwy/highway.h>

#include "kernels/cpu/score_rows.h"

HWY_BEFORE_NAMESPACE();
namespace ecokv::kernels::cpu {
namespace HWY_NAMESPACE {

constexpr int64_t kLanes = 16; ///< partial results, the same on every instruction set

HWY_INLINE bool IsFinite(float value) {
    return value - value == 0.0F;
}

/// Smallest finite value of sign * values.
HWY_INLINE float Lowest(const float* HWY_RESTRICT values, int64_t count, float sign) {
    constexpr float kNone = __builtin_huge_valf();
    float low[kLanes];
    for (int64_t lane = 0; lane < kLanes; ++lane) {
        low[lane] = kNone;
    }
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (int64_t lane = 0; lane < kLanes; ++lane) {
            const float value = IsFinite(values[i + lane]) ? sign * values[i + lane] : kNone;
            low[lane] = value < low[lane] ? value : low[lane];
        }
    }
    for (; i < count; ++i) {
        const float value = IsFinite(values[i]) ? sign * values[i] : kNone;
        low[0] = value < low[0] ? value : low[0];
    }
    for (int64_t lane = 1; lane < kLanes; ++lane) {
        low[0] = low[lane] < low[0] ? low[lane] : low[0];
    }
    return low[0];
}

void FiniteRange(const float* values, int64_t count, Range& range) {
    range.low = Lowest(values, count, 1.0F);
    range.high = -Lowest(values, count, -1.0F);
}

void SumOf(const float* HWY_RESTRICT values, int64_t count, double& sum) {
    double part[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (int64_t lane = 0; lane < kLanes; ++lane) {
            part[lane] += static_cast<double>(values[i + lane]);
        }
    }
    for (; i < count; ++i) {
        part[0] += static_cast<double>(values[i]);
    }
    for (int64_t lane = 1; lane < kLanes; ++lane) {
        part[0] += part[lane];
    }
    sum = part[0];
}

void CopyFinite(const float* HWY_RESTRICT values, int64_t count, float* HWY_RESTRICT out) {
    for (int64_t i = 0; i < count; ++i) {
        out[i] = IsFinite(values[i]) ? values[i] : 0.0F;
    }
}

void PoolSum(const float* HWY_RESTRICT padded, int64_t count, int kernel, float factor,
             float* HWY_RESTRICT out) {
    for (int64_t begin = 0; begin < count; begin += kLanes) {
        const int64_t width = count - begin < kLanes ? count - begin : kLanes;
        float sum[kLanes] = {};
        for (int64_t j = begin; j < begin + kernel; ++j) { // `padded` reaches kLanes past its end
            for (int64_t lane = 0; lane < kLanes; ++lane) {
                sum[lane] += padded[j + lane];
            }
        }
        for (int64_t lane = 0; lane < width; ++lane) {
            out[begin + lane] = sum[lane] * factor;
        }
    }
}

void PoolMax(const float* HWY_RESTRICT padded, int64_t count, int kernel, float* HWY_RESTRICT out) {
    for (int64_t i = 0; i < count; ++i) {
        float largest = padded[i];
        for (int64_t j = 1; j < kernel; ++j) {
            largest = padded[i + j] > largest ? padded[i + j] : largest;
        }
        out[i] = largest;
    }
}

void RescaleRow(const float* HWY_RESTRICT values, int64_t count, float origin, float span,
                float* HWY_RESTRICT out) {
    for (int64_t i = 0; i < count; ++i) {
        out[i] = IsFinite(values[i]) ? (values[i] - origin) / span : 0.0F;
    }
}

void MixRows(float a, const float* x, float b, const float* y, int64_t count, float* out) {
    for (int64_t i = 0; i < count; ++i) {
        out[i] = a * x[i] + b * y[i];
    }
}

} // namespace HWY_NAMESPACE
} // namespace ecokv::kernels::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ecokv::kernels::cpu {

HWY_EXPORT(FiniteRange);
HWY_EXPORT(SumOf);
HWY_EXPORT(CopyFinite);
HWY_EXPORT(PoolSum);
HWY_EXPORT(PoolMax);
HWY_EXPORT(RescaleRow);
HWY_EXPORT(MixRows);

Range finiteRange(const float* values, std::int64_t count) {
    Range range;
    HWY_DYNAMIC_DISPATCH(FiniteRange)(values, count, range);
    return range;
}

double sumOf(const float* values, std::int64_t count) {
    double sum = 0;
    HWY_DYNAMIC_DISPATCH(SumOf)(values, count, sum);
    return sum;
}

void copyFinite(const float* values, std::int64_t count, float* out) {
    HWY_DYNAMIC_DISPATCH(CopyFinite)(values, count, out);
}

void poolSum(const float* padded, std::int64_t count, int kernel, float factor, float* out) {
    HWY_DYNAMIC_DISPATCH(PoolSum)(padded, count, kernel, factor, out);
}

void poolMax(const float* padded, std::int64_t count, int kernel, float* out) {
    HWY_DYNAMIC_DISPATCH(PoolMax)(padded, count, kernel, out);
}

void rescaleRow(const float* values, std::int64_t count, float origin, float span, float* out) {
    HWY_DYNAMIC_DISPATCH(RescaleRow)(values, count, origin, span, out);
}

void mixRows(float a, const float* x, float b, const float* y, std::int64_t count, float* out) {
    HWY_DYNAMIC_DISPATCH(MixRows)(a, x, b, y, count, out);
}

} // namespace ecokv::kernels::cpu
#endif // HWY_ONCE
