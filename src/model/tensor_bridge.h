#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Between at::Tensor, which stays inside src/model, and TensorView, which everybody else speaks.
// No data is copied; whoever owns the memory must outlive the result. Any thread.

#include "base/tensor_view.h"
#include "model/aten.h"

namespace ecokv::model {

c10::ScalarType toTorch(DType dtype);
c10::Device toTorch(Device device);
/// Throws Error{Internal} for a dtype without a counterpart.
DType fromTorch(c10::ScalarType dtype);
Device fromTorch(const c10::Device& device);

/// A view of the tensor's memory; at most four dimensions.
TensorView viewOf(const at::Tensor& tensor);
/// A tensor over the view's memory, strides kept.
at::Tensor tensorOf(const TensorView& view);

} // namespace ecokv::model
