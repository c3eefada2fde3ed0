// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/axis_ticks.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ecokv::ui {
namespace {

QString decadeLabel(int exponent) {
    static const QString kDigits = QStringLiteral("⁰¹²³⁴⁵⁶⁷⁸⁹");
    QString label = QStringLiteral("10");
    if (exponent < 0) {
        label += QStringLiteral("⁻");
    }
    for (const QChar digit : QString::number(std::abs(exponent))) {
        label += kDigits[digit.digitValue()];
    }
    return label;
}

std::vector<Tick> stepsWithinDecades(double low, double high) {
    std::vector<Tick> ticks;
    for (int exponent = static_cast<int>(std::floor(low)); exponent <= std::ceil(high);
         ++exponent) {
        for (const int step : {1, 2, 5}) {
            const double position = exponent + std::log10(step);
            if (position >= low && position <= high) {
                ticks.push_back(
                    {position, QString::number(step * std::pow(10.0, exponent), 'g', 3)});
            }
        }
    }
    return ticks;
}

/// The nearest of 1, 2, 5 times a power of ten, by ratio.
double roundStep(double step) {
    const double power = std::pow(10.0, std::floor(std::log10(step)));
    const double mantissa = step / power;
    if (mantissa < std::sqrt(2.0)) {
        return power;
    }
    if (mantissa < std::sqrt(10.0)) {
        return 2 * power;
    }
    return (mantissa < std::sqrt(50.0) ? 5 : 10) * power;
}

/// A range too narrow for 1-2-5: round numbers of the linear axis.
std::vector<Tick> ticksWithinStep(double low, double high) {
    auto ticks = linearTicks(std::pow(10.0, low), std::pow(10.0, high), 4);
    for (Tick& tick : ticks) {
        tick.value = std::log10(tick.value);
    }
    return ticks;
}

} // namespace

std::vector<Tick> linearTicks(double low, double high, int count) {
    if (!(high > low)) {
        return {{low, QString::number(low, 'g', 4)}};
    }
    const double step = roundStep((high - low) / std::max(count, 1));
    const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
    const bool isPlain = decimals <= 4 && std::max(std::abs(low), std::abs(high)) < 1e6;
    const double slack = step * 1e-6;
    std::vector<Tick> ticks;
    for (double n = std::ceil((low - slack) / step); n * step <= high + slack; ++n) {
        const double value = n == 0 ? 0.0 : n * step; // never "-0"
        QString label =
            isPlain ? QString::number(value, 'f', decimals) : QString::number(value, 'g', 3);
        label.replace(QLatin1Char('-'), QChar(0x2212)); // minus sign
        ticks.push_back({value, label});
    }
    return ticks;
}

std::vector<Tick> indexTicks(int size, int most) {
    static constexpr std::array kSteps = {1,  2,  4,  5,   8,   10,  16,  20,
                                          32, 50, 64, 100, 128, 200, 500, 1000};
    const auto fits = [&](int step) { return (size + step - 1) / step <= std::max(most, 1); };
    const auto found = std::find_if(kSteps.begin(), kSteps.end(), fits);
    const int step = found != kSteps.end() ? *found : std::max(size, 1);
    std::vector<Tick> ticks;
    for (int i = 0; i < size; i += step) {
        ticks.push_back({static_cast<double>(i), QString::number(i)});
    }
    return ticks;
}

std::vector<Tick> logTicks(double low, double high, int most) {
    const int first = static_cast<int>(std::ceil(low - 1e-9));
    const int last = static_cast<int>(std::floor(high + 1e-9));
    if (last - first < 2) {
        auto ticks = stepsWithinDecades(low, high);
        return ticks.size() >= 2 ? ticks : ticksWithinStep(low, high);
    }
    const int stride = (last - first) / std::max(most, 1) + 1;
    const bool isPlain = first >= -3 && last <= 4;
    std::vector<Tick> ticks;
    for (int exponent = first; exponent <= last; ++exponent) {
        const QString label =
            isPlain ? QString::number(std::pow(10.0, exponent), 'g', 6) : decadeLabel(exponent);
        const bool isMajor = (exponent - first) % stride == 0;
        ticks.push_back({static_cast<double>(exponent), isMajor ? label : QString()});
    }
    return ticks;
}

} // namespace ecokv::ui
