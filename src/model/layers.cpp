// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/layers.h"

#include "base/error.h"
#include "kernels/matrix_vector.h"
#include "model/tensor_bridge.h"

namespace ecokv::model {

namespace {

/// One row on the host: LibTorch's products stay far below the memory's rate there.
bool isHostRow(const at::Tensor& x, const at::Tensor& weight) {
    return x.device().is_cpu() && x.numel() == x.size(-1) && x.is_contiguous() &&
           weight.device().is_cpu() && weight.stride(1) == 1 &&
           weight.scalar_type() == x.scalar_type() &&
           (x.scalar_type() == c10::kFloat || x.scalar_type() == c10::kBFloat16);
}

at::Tensor multiplyHostRow(const Linear& layer, const at::Tensor& x) {
    std::vector<std::int64_t> shape = x.sizes().vec();
    shape.back() = layer.weight.size(0);
    at::Tensor out = at::empty(shape, x.options());
    const kernels::Status status =
        kernels::matrixVector({.weight = viewOf(layer.weight),
                               .row = viewOf(x.flatten()),
                               .bias = layer.bias.defined() ? viewOf(layer.bias) : TensorView{}},
                              viewOf(out.flatten()));
    if (status != kernels::Status::Ok) {
        throwInternal(std::string("A linear layer cannot be applied: ") +
                      kernels::statusText(status));
    }
    return out;
}

} // namespace

at::Tensor Linear::operator()(const at::Tensor& x) const {
    if (isHostRow(x, weight)) {
        return multiplyHostRow(*this, x);
    }
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
