// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/layers.h"

#include "base/error.h"

namespace ecokv::model {

at::Tensor Linear::operator()(const at::Tensor& x) const {
    if (bias.defined()) {
        return at::linear(x, weight, bias);
    }
    return at::linear(x, weight);
}

at::Tensor RmsNorm::operator()(const at::Tensor& x) const {
    const at::Tensor wide = x.to(c10::kFloat);
    const at::Tensor variance = wide.square().mean(-1, true);
    at::Tensor normalised = wide * at::rsqrt(variance.add_(epsilon));
    if (isWide) {
        return normalised.mul_(weight).to(x.scalar_type());
    }
    return normalised.to(x.scalar_type()).mul_(weight);
}

at::Tensor LayerNorm::operator()(const at::Tensor& x) const {
    return at::layer_norm(x, weight.sizes(), weight, bias, epsilon);
}

at::Tensor activate(Activation activation, const at::Tensor& x) {
    constexpr double kQuickGeluSlope = 1.702; // Hendrycks and Gimpel, arXiv 1606.08415
    switch (activation) {
    case Activation::Silu:
        return at::silu(x);
    case Activation::Gelu:
        return at::gelu(x);
    case Activation::GeluTanh:
        return at::gelu(x, "tanh");
    case Activation::QuickGelu:
        return at::sigmoid(x * kQuickGeluSlope).mul_(x);
    case Activation::Relu:
        return at::relu(x);
    }
    throwInternal("A layer has an unknown activation.");
}

} // namespace ecokv::model
