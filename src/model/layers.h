#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The building blocks both the tower and the decoder are made of, with the arithmetic of their
// counterparts in transformers. Values; calling them is const and allocates only the result.

#include "model/aten.h"
#include "model/model_config.h"

namespace ecokv::model {

/// y = x W^T + b. x [row, in], weight [out, in], bias [out] or undefined.
struct Linear {
    at::Tensor weight, bias;

    at::Tensor operator()(const at::Tensor& x) const;
};

/// Root-mean-square norm over the last dimension. With a weight in x's dtype as in Llama:
/// normalised in f32, rounded to x's dtype, then scaled. With a wide weight (f32) as in Gemma:
/// scaled before it is rounded.
struct RmsNorm {
    at::Tensor weight; ///< [hidden]
    double epsilon = 1e-6;
    bool isWide = false;

    at::Tensor operator()(const at::Tensor& x) const;
};

struct LayerNorm {
    at::Tensor weight, bias; ///< [hidden]
    double epsilon = 1e-5;

    at::Tensor operator()(const at::Tensor& x) const;
};

at::Tensor activate(Activation activation, const at::Tensor& x);

} // namespace ecokv::model
