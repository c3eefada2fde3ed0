// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/image/placement.h"

namespace ecokv::model {

PatchBox Placement::box(double x0, double y0, double x1, double y1) const {
    return {
        static_cast<float>((x0 + offsetX) / scaleX), static_cast<float>((y0 + offsetY) / scaleY),
        static_cast<float>((x1 + offsetX) / scaleX), static_cast<float>((y1 + offsetY) / scaleY)};
}

Placement Placement::within(const Placement& outer) const {
    return {scaleX * outer.scaleX, scaleY * outer.scaleY, offsetX + outer.offsetX * scaleX,
            offsetY + outer.offsetY * scaleY};
}

Placement tilePlacement(std::int32_t index, std::int32_t columns, std::int32_t width,
                        std::int32_t height) {
    const std::int32_t left = index % columns * width;
    const std::int32_t top = index / columns * height;
    return {1.0, 1.0, static_cast<double>(left), static_cast<double>(top)};
}

void addCells(std::vector<ImageToken>& tokens, const Placement& placement, const CellGrid& grid) {
    for (std::int32_t row = 0; row < grid.rows; ++row) {
        for (std::int32_t column = 0; column < grid.columns; ++column) {
            tokens.push_back({placement.box(column * grid.width, row * grid.height,
                                            (column + 1) * grid.width, (row + 1) * grid.height),
                              grid.role});
        }
    }
}

} // namespace ecokv::model
