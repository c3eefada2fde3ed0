#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers that are not finite (NaN or Inf) end a run where they first arise: behind that layer
// every score, error and survivor would be made of nothing and look perfect. Pure functions.

#include "model/aten.h"
#include "model/decoder/layer_weights.h"

#include <initializer_list>
#include <string>

namespace ecokv::model {

/// One pass over `values` (any shape, dtype, device).
bool isFinite(const at::Tensor& values);

/// Throws Error{BadInput} naming the layer, and its weights where they are the cause, if one of
/// `values` (keys, hidden states, ...), which only this layer can have damaged, is not finite.
void requireFinite(LayerId layer, const LayerWeights& weights,
                   std::initializer_list<at::Tensor> values);

/// The first of a layer's parts whose weights are not all finite, in words; "" if there is none.
std::string damagedPart(const LayerWeights& layer);
/// The same of what stands behind the last layer.
std::string damagedPart(const RmsNorm& finalNorm, const Linear& head);

/// Throws Error{BadInput}: `where` ("Layer 3") computes such numbers because the weights of its
/// `part` hold some.
[[noreturn]] void throwDamaged(const std::string& where, const std::string& part);

/// Throws Error{BadInput}: `what` ("The picture features") is not finite.
[[noreturn]] void throwNotFinite(const std::string& what, c10::ScalarType computed);

} // namespace ecokv::model
