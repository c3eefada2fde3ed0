#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Device side: one step of a warp's matrix product on the tensor cores (mma.sync m16n8k16, sm_80),
// half-precision factors with fp32 sums. Without a GPU the same fragments are multiplied in fp32.
//
// Lane = 4 * group + member. `a` [16, 16]: words 0 to 3 hold rows group, group + 8, group, group +
// 8 at columns 2 * member (+ 1) and, from word 2 on, 8 further. `b` [16, 8]: column group, rows 2 *
// member (+ 1) and 8 further. `sums` [16, 8]: rows group and group + 8, columns 2 * member (+ 1).

#include "kernels/cuda/element.h"

namespace ecokv::kernels::cuda {

#if defined(__CUDACC__)

ECOKV_DEVICE void addProduct(Bf16, float (&sums)[4], const std::uint32_t (&a)[4],
                             const std::uint32_t (&b)[2]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

ECOKV_DEVICE void addProduct(F16, float (&sums)[4], const std::uint32_t (&a)[4],
                             const std::uint32_t (&b)[2]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#else

template <class T>
void addProduct(T, float (&sums)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    struct Fragment {
        std::uint32_t a[4], b[2];
    };
    const Fragment mine{{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
    Fragment all[simt::kWarp];
    simt::gather(&mine, sizeof mine, all);
    const auto half = [](std::uint32_t word, int index) {
        return toFloat(T{static_cast<std::uint16_t>(index % 2 == 0 ? word : word >> 16)});
    };
    for (int i = 0; i < 4; ++i) {
        const int row = simt::lane() / 4 + 8 * (i / 2);
        const int column = simt::lane() % 4 * 2 + i % 2;
        for (int k = 0; k < 16; ++k) {
            const int member = k % 8 / 2;
            const Fragment& left = all[row % 8 * 4 + member];
            const Fragment& right = all[column * 4 + member];
            sums[i] += half(left.a[row / 8 + 2 * (k / 8)], k) * half(right.b[k / 8], k);
        }
    }
}

#endif

} // namespace ecokv::kernels::cuda
